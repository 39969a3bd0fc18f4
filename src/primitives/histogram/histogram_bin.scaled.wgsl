// Even bins by a multiplication and an addition. The bias brings the sum to where the bits of an f32 are a bin above
// params.shift and its fraction below, and adds params.near / 2, the most that the sum may be wrong by: a sample that an
// error could put on the wrong side of an edge has a small fraction and the number of that edge. It is compared with it.
// Any number from params.bin_count on means that the sample is in no bin.
fn find_bin(bits: u32) -> u32 {
  let position = bitcast<u32>(bin_position(bits));
  let bin = (position - params.position_bits) >> params.shift;
  if (((position & params.fraction_mask) <= params.near) | !may_count(bits)) { return bin_at_edge(bin, bits); }
  return bin;
}

fn bin_at_edge(nearest: u32, bits: u32) -> u32 {
  let key = sample_key(bits);
  if (!is_counted(key)) { return NO_CELL; }
  let edge = min(nearest, params.bin_count);
  return min(select(edge - 1u, edge, key >= edge_key(edge)), params.bin_count - 1u);
}
