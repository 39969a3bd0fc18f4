// Where a sample lies, in bins from the lower edge and the bias on top, as nearly as f32 can say.
fn bin_position(bits: u32) -> f32 { return f32(sample_key(bits) - params.first_key) * params.scale + params.bias; }

// What lies before the first value would come out at the other end.
fn may_count(bits: u32) -> bool { return is_counted(sample_key(bits)); }
