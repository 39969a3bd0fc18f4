// Order-preserving keys of f32 bits. Those of NaN lie beyond the infinities' and so outside every range of edges.
fn sample_key(bits: u32) -> u32 { return bits ^ ((0u - (bits >> 31u)) | 0x80000000u); }

// Both zeros are equal: neither is below the one edge, nor above the other.
fn lower_key(bits: u32) -> u32 { return select(sample_key(bits), 0x7fffffffu, (bits & 0x7fffffffu) == 0u); }
fn upper_key(bits: u32) -> u32 { return select(sample_key(bits), 0x80000000u, (bits & 0x7fffffffu) == 0u); }
