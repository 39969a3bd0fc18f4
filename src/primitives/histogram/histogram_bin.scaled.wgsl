// Even bins by a multiplication and an addition. The bias brings the sum to where the bits of an f32 are a bin above
// params.shift and its fraction below, and adds params.near / 2, the most that the sum may be wrong by: a sample that an
// error could put on the wrong side of an edge has a small fraction and the number of that edge. It is compared with it.
fn find_bin(bits: u32) -> u32 {
  let offset = bitcast<u32>(bin_position(bits)) - params.position_bits;
  let bin = offset >> params.shift;
  if ((offset & params.fraction_mask) <= params.near) { return bin_at_edge(bin, bits); }
  return select(NO_CELL, bin, bin < params.bin_count && may_count(bits));
}

fn bin_at_edge(nearest: u32, bits: u32) -> u32 {
  let key = sample_key(bits);
  if (!is_counted(key)) { return NO_CELL; }
  let edge = min(nearest, params.bin_count);
  return min(select(edge - 1u, edge, key >= edge_key(edge)), params.bin_count - 1u);
}
