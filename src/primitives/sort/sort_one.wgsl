// sort_one: one workgroup sorts a tile; all passes stay in workgroup memory.
//
// Prelude gives  WORKGROUP_SIZE, TILE_ITEMS, DIGITS, DIGIT_BITS, KEY_BITS
// Parts give     item_count (sort_extent.*), load_items, exchange_items, store_items (generated), first_item,
//                item_step, threads_exclusive, clear_counts, count_digits, start_places, place_keys (sort_place.*)
fn run(workgroup: Workgroup, thread: Thread) {
  let room = min(item_count(), TILE_ITEMS);
  let first = first_item(thread, workgroup);
  let step = item_step(workgroup);
  var items = load_items(first, step, room);
  for (var pass_number = 0u; pass_number < params.pass_count; pass_number++) {
    let digit = digit_of_number(pass_number);
    clear_counts(thread);
    let count = count_digits(items.keys, digit, first, step, room, thread, workgroup);
    let start = threads_exclusive(vec2u(count, 0u), thread, workgroup).x;
    start_places(start, thread, workgroup);
    let places = place_keys(items.keys, digit, first, step, room, thread, workgroup);
    items = exchange_items(items, places, first, step);
  }
  store_items(items, first, step, room);
}
