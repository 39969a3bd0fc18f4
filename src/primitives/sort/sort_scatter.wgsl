// sort_scatter: moves the items of one chunk, tile by tile, to where their digit goes. Last of the three passes a digit
// that need nothing but barriers.
//
// Prelude gives  WORKGROUP_SIZE, TILE_ITEMS, DIGITS
// Parts give     run (sort_chunks.*), first_position (sort_positions.*), load_keys, store_tile (generated), first_item,
//                item_step, thread_rank, threads_exclusive, clear_counts, count_digits, start_places, place_keys
//                (sort_place.*)
@group(0) @binding(5) var<storage, read_write> partials: array<u32>;

fn take_chunk(chunk: u32, begin: u32, end: u32, workgroup: Workgroup, thread: Thread) {
  let digit = digit_of_pass();
  let rank = thread_rank(thread, workgroup);
  let first = first_item(thread, workgroup);
  let step = item_step(workgroup);
  var next = first_position(rank, chunk, thread, workgroup);  // of this thread's digit
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
