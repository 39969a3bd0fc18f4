// Any bin may be the right one.
fn bin_bounds(bits: u32) -> vec2u { return vec2u(0u, params.bin_count); }
