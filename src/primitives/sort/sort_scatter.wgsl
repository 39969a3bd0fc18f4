// sort_scatter: moves the items of one chunk, tile by tile, to where their digit goes. Last of the three passes a digit
// that need nothing but barriers.
//
// Prelude gives  WORKGROUP_SIZE, TILE_ITEMS, DIGITS
// Parts give     item_count (sort_extent.*), tile_index (grid), load_keys, store_tile (generated), first_item,
//                item_step, thread_rank, threads_exclusive, clear_counts, count_digits, start_places, place_keys
//                (sort_place.*)
@group(0) @binding(5) var<storage, read_write> partials: array<u32>;
@group(0) @binding(6) var<storage, read_write> totals: array<u32>;

fn run(workgroup: Workgroup, thread: Thread) {
  let chunk = tile_index(workgroup.id, params.grid_width, params.grid_height);
  if (chunk >= params.chunk_count) { return; }
  let digit = digit_of_pass();
  let item_total = item_count();
  let chunk_tiles = (count_tiles(item_total) + params.chunk_count - 1u) / params.chunk_count;
  let begin = min(chunk * chunk_tiles * TILE_ITEMS, item_total);
  let end = begin + min(chunk_tiles * TILE_ITEMS, item_total - begin);
  let rank = thread_rank(thread, workgroup);
  let first = first_item(thread, workgroup);
  let step = item_step(workgroup);
  var all = 0u;   // of the whole input, with this thread's digit
  var next = 0u;  // of those, in the chunks and tiles before
  if (rank < DIGITS) {
    all = totals[rank];
    next = partials[rank * params.chunk_count + chunk];
  }
  next += threads_exclusive(vec2u(all, 0u), thread, workgroup).x;
  for (var tile_first = begin; tile_first < end; tile_first += TILE_ITEMS) {
    let room = min(end - tile_first, TILE_ITEMS);
    clear_counts(thread);
    let keys = load_keys(first, step, tile_first, room);
    let count = count_digits(keys, digit, first, step, room, thread, workgroup);
    let start = threads_exclusive(vec2u(count, 0u), thread, workgroup).x;
    start_places(start, thread, workgroup);
    let places = place_keys(keys, digit, first, step, room, thread, workgroup);
    if (rank < DIGITS) { digit_offsets[rank] = next - start; }
    next += count;
    store_tile(keys, places, digit, first, step, tile_first, room, thread);
  }
}
