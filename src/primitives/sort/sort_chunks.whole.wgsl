// Chunks of the whole input: runs of tiles, a workgroup each.
//
// Parts give     uniform_item_count (sort_uniform_extent.*), take_chunk
fn partial_at(digit: u32, chunk: u32) -> u32 { return digit * params.chunk_count + chunk; }

fn run(workgroup: Workgroup, thread: Thread) {
  let chunk = tile_index(workgroup.id, params.grid_width, params.grid_height);
  if (chunk >= params.chunk_count) { return; }
  let item_total = uniform_item_count(thread);
  let chunk_tiles = (count_tiles(item_total) + params.chunk_count - 1u) / params.chunk_count;
  let begin = min(chunk * chunk_tiles * TILE_ITEMS, item_total);
  take_chunk(chunk, begin, begin + min(chunk_tiles * TILE_ITEMS, item_total - begin), workgroup, thread);
}
