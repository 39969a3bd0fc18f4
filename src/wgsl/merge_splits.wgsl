// merge_splits: how many items of the left range are among the outputs before each tile. The first two words are the
// numbers of items, for the kernel that merges. One thread a tile.
// Sources: Odeh et al. 2012; Green, McColl and Bader 2012 (merge path).
//
// Prelude gives  WORKGROUP_SIZE, TILE_ITEMS
// Parts give     range_counts (generated), pair_of (merge_pairs.*), split_pair (merge_split_pair), tile_index (grid)
@group(0) @binding(7) var<storage, read_write> splits: array<u32>;

fn run(workgroup: Workgroup, thread: Thread) {
  let group = tile_index(workgroup.id, params.grid_width, params.grid_height);
  let tile = group * WORKGROUP_SIZE + thread.index;
  let counts = range_counts();
  if (tile == 0u) {
    splits[0] = counts.x;
    splits[1] = counts.y;
  }
  if (tile >= params.tile_count) { return; }
  let pair = pair_of(tile / params.pair_tiles, counts);
  let begin = tile % params.pair_tiles * TILE_ITEMS;
  splits[2u + tile] = split_pair(pair, min(begin, pair.left_count + pair.right_count));
}
