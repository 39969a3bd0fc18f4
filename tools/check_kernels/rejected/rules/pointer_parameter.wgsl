fn first(items: ptr<workgroup, array<u32, 64>>) -> u32 { return items[0]; }
