// Where a tile's ranges begin and end, found by the workgroup itself: a dispatch less, but nothing else to do meanwhile.
//
// Parts give     range_counts (generated), split_pair (merge_split_pair)
var<workgroup> shared_splits: array<u32, 2>;

fn tile_counts() -> vec2u { return range_counts(); }

// The splits of a tile whose outputs are those from `begin` to `end` of its pair.
fn tile_splits(tile: u32, pair: Pair, begin: u32, end: u32, thread: Thread) -> vec2u {
  if (thread.index < 2u) {
    shared_splits[thread.index] = split_pair(pair, select(begin, end, thread.index == 1u));
  }
  workgroupBarrier();  // both splits are stored
  return vec2u(shared_splits[0], shared_splits[1]);
}
