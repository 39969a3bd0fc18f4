// Where a sample lies, in bins from the lower edge and the bias on top, as nearly as f32 can say.
fn bin_position(bits: u32) -> f32 { return (bitcast<f32>(bits) - params.lower) * params.scale + params.bias; }

// No infinity and no NaN; told by bits, because compilers may assume that floats are numbers.
fn may_count(bits: u32) -> bool { return (bits & 0x7fffffffu) < 0x7f800000u; }
