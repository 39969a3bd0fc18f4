override   size: u32 = 64u;
