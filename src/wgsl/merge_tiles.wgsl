// merge_tiles: each workgroup merges the two ranges of one tile: loads them side by side, gives each thread its outputs
// by a search in workgroup memory, and stores the result in order.
// Sources: Odeh et al. 2012; Green, McColl and Bader 2012 (merge path).
//
// Prelude gives  WORKGROUP_SIZE, TILE_ITEMS, ITEMS_PER_THREAD
// Parts give     pair_of (merge_pairs.*), tile_counts, tile_splits (merge_tile_splits.*), split_stage (merge_stage),
//                load_tile, merge_stage, put_merged, store_tile (generated), tile_index (grid)

// The part of its pair that a tile consists of; nothing behind the last item of a pair.
fn ranges_of(number: u32, thread: Thread) -> Ranges {
  let tile = min(number, params.tile_count - 1u);
  let pair = pair_of(tile / params.pair_tiles, tile_counts());
  let items = pair.left_count + pair.right_count;
  let begin = min(tile % params.pair_tiles * TILE_ITEMS, items);
  let room = min(TILE_ITEMS, items - begin);
  let splits_of_tile = tile_splits(tile, pair, begin, begin + room, thread);
  return Ranges(pair.left_begin + splits_of_tile.x, pair.right_begin + begin - splits_of_tile.x,
                pair.output_begin + begin, splits_of_tile.y - splits_of_tile.x, select(0u, room, number == tile));
}

// Every thread takes every barrier, since WGSL does not see that the ranges are the same for all of them: a tile without
// items compares none and stores none.
fn run(workgroup: Workgroup, thread: Thread) {
  let ranges = ranges_of(tile_index(workgroup.id, params.grid_width, params.grid_height), thread);
  load_tile(ranges, thread);
  workgroupBarrier();  // both ranges are stored
  let left_room = min(ranges.left_room, ranges.room);
  let diagonal = min(thread.index * ITEMS_PER_THREAD, ranges.room);
  let left = split_stage(0u, left_room, left_room, ranges.room - left_room, diagonal);
  let merged = merge_stage(left, left_room, left_room + diagonal - left, ranges.room);
  workgroupBarrier();  // all threads have read their items
  put_merged(merged, thread);
  workgroupBarrier();  // the items lie in order
  store_tile(ranges, thread);
}
