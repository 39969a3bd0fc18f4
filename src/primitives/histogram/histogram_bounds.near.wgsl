// Even bins: the search begins around the position that a multiplication gives.
fn bin_bounds(bits: u32) -> vec2u {
  let guess = min(u32(bin_position(bits)), params.bin_count - 1u);
  return vec2u(max(guess, params.reach) - params.reach, min(guess + params.reach + 1u, params.bin_count));
}
