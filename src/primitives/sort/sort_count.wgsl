// sort_count: how often each digit occurs in each chunk, a run of tiles. First of the three passes a digit that need
// nothing but barriers.
//
// Prelude gives  WORKGROUP_SIZE, TILE_ITEMS, DIGITS
// Parts give     item_count (sort_extent.*), tile_index (grid), load_keys (generated)
// Of digit d and chunk c at d * chunk_count + c.
@group(0) @binding(5) var<storage, read_write> partials: array<u32>;

var<workgroup> chunk_counts: array<atomic<u32>, DIGITS>;

fn run(workgroup: Workgroup, thread: Thread) {
  let chunk = tile_index(workgroup.id, params.grid_width, params.grid_height);
  if (chunk >= params.chunk_count) { return; }
  let digit = digit_of_pass();
  let item_total = item_count();
  let chunk_tiles = (count_tiles(item_total) + params.chunk_count - 1u) / params.chunk_count;
  let begin = min(chunk * chunk_tiles * TILE_ITEMS, item_total);
  let end = begin + min(chunk_tiles * TILE_ITEMS, item_total - begin);
  var tile_first = begin;
  for (; end - tile_first >= TILE_ITEMS; tile_first += TILE_ITEMS) {
    count_keys(load_keys(thread.index, WORKGROUP_SIZE, tile_first, TILE_ITEMS), digit);
  }
  for (var i = tile_first + thread.index; i < end; i += WORKGROUP_SIZE) {
    atomicAdd(&chunk_counts[digit_of(keys_in[params.keys_first + i], digit)], 1u);
  }
  workgroupBarrier();  // all keys are counted
  for (var d = thread.index; d < DIGITS; d += WORKGROUP_SIZE) {
    partials[d * params.chunk_count + chunk] = atomicLoad(&chunk_counts[d]);
  }
}
