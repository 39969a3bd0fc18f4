// The search of merge path in two sorted ranges that lie in memory.
// Sources: Odeh et al. 2012; Green, McColl and Bader 2012.
//
// Parts give     load_left, load_right, comes_before (generated), Pair (merge_params)

// Does item `middle` of the left range come before what is then the last of the right range's items? Among equal ones
// the left one does.
fn takes_left(pair: Pair, diagonal: u32, middle: u32) -> bool {
  return !comes_before(load_right(pair.right_begin + diagonal - 1u - middle), load_left(pair.left_begin + middle));
}

// How many of the first `diagonal` items of the merged pair are of the left range.
fn split_pair(pair: Pair, diagonal: u32) -> u32 {
  var low = max(diagonal, pair.right_count) - pair.right_count;
  var high = min(diagonal, pair.left_count);
  // Three places at a time: their loads are on their way together, and half as many rounds wait for memory.
  while (high - low >= 4u) {
    let quarter = (high - low) / 4u;
    let first = takes_left(pair, diagonal, low + quarter);
    let second = takes_left(pair, diagonal, low + 2u * quarter);
    let third = takes_left(pair, diagonal, low + 3u * quarter);
    let base = low;
    low = select(base, select(base + quarter + 1u, select(base + 2u * quarter + 1u, base + 3u * quarter + 1u, third),
                              second), first);
    high = select(base + quarter, select(base + 2u * quarter, select(base + 3u * quarter, high, third), second), first);
  }
  while (low < high) {
    let middle = (low + high) / 2u;
    if (takes_left(pair, diagonal, middle)) { low = middle + 1u; } else { high = middle; }
  }
  return low;
}
