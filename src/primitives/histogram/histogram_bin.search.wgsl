// The last bin whose lower edge is not above the sample, by bisection of the edges.
fn find_bin(bits: u32) -> u32 {
  let key = sample_key(bits);
  if (!is_counted(key)) { return NO_CELL; }
  let bounds = bin_bounds(bits);
  var low = bounds.x;
  var high = bounds.y;
  while (high - low > 1u) {
    let middle = low + (high - low) / 2u;
    if (key >= edge_key(middle)) { low = middle; } else { high = middle; }
  }
  return low;
}
