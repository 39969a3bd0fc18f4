// Order-preserving keys of i32.
fn sample_key(bits: u32) -> u32 { return bits ^ 0x80000000u; }
fn lower_key(bits: u32) -> u32 { return sample_key(bits); }
fn upper_key(bits: u32) -> u32 { return sample_key(bits); }
