// merge_sort_tiles: each workgroup sorts a tile in workgroup memory. Each thread sorts its few items, then runs of one,
// two, four, ... threads are merged.
// Sources: Satish, Harris and Garland 2009; Green, McColl and Bader 2012 (merge path).
//
// Prelude gives  WORKGROUP_SIZE (a power of two), TILE_ITEMS, ITEMS_PER_THREAD
// Parts give     range_counts, load_tile, sort_own, merge_stage, put_merged, store_tile (generated), split_stage
//                (merge_stage), tile_index (grid)
fn run(workgroup: Workgroup, thread: Thread) {
  let tile = tile_index(workgroup.id, params.grid_width, params.grid_height);
  let count = range_counts().x;
  let first = tile * TILE_ITEMS;
  if (tile >= params.tile_count || first >= count) { return; }
  let room = min(TILE_ITEMS, count - first);
  let ranges = Ranges(first, first, first, room, room);
  load_tile(ranges, thread);
  workgroupBarrier();  // all keys are stored
  var merged = sort_own(room, thread);
  for (var threads = 1u; threads < WORKGROUP_SIZE; threads *= 2u) {
    workgroupBarrier();  // all threads have read their items
    put_merged(merged, thread);
    workgroupBarrier();  // runs of `threads` threads lie in order
    let pair_mask = 2u * threads - 1u;
    let begin = min((thread.index & ~pair_mask) * ITEMS_PER_THREAD, room);
    let middle = min(begin + threads * ITEMS_PER_THREAD, room);
    let end = min(middle + threads * ITEMS_PER_THREAD, room);
    let diagonal = min((thread.index & pair_mask) * ITEMS_PER_THREAD, end - begin);
    let left = split_stage(begin, middle - begin, middle, end - middle, diagonal);
    merged = merge_stage(begin + left, middle, middle + diagonal - left, end);
  }
  workgroupBarrier();  // all threads have read their items
  put_merged(merged, thread);
  workgroupBarrier();  // the tile lies in order
  store_tile(ranges, thread);
}
