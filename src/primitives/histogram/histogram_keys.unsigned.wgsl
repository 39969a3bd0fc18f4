// Unsigned samples are their own keys.
fn sample_key(bits: u32) -> u32 { return bits; }
fn lower_key(bits: u32) -> u32 { return bits; }
fn upper_key(bits: u32) -> u32 { return bits; }
