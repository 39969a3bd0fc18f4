// Indices say which key comes where.
@group(0) @binding(3) var<storage, read> indices: array<u32>;

fn key_at(item: u32) -> u32 { return indices[item]; }
