// The workgroup folds the totals of the tiles before: WINDOW records at a time, one a thread, which thread 0 folds. Ends
// without help of others: what is missing after POLL_ROUNDS looks is computed here.
const WINDOW = min(16u, WORKGROUP_SIZE);

var<workgroup> window_values: array<Accumulator, WINDOW>;
var<workgroup> window_flags: array<u32, WINDOW>;
var<workgroup> shared_look: vec2u;  // records taken, 1 if the last was a prefix
var<workgroup> shared_before: Accumulator;

fn lend_total(tile: u32, range: Range, thread: Thread, workgroup: Workgroup) -> Accumulator {
  let first = (range.origin + tile * TILE_ITEMS) / UNIT_ITEMS + thread_rank(thread, workgroup) * ROWS;
  var sum = identity();
  // A loop of unknown length: this code must not cost the others registers.
  for (var k = 0u; k < params.rows; k++) {
    let loaded = load_edge_unit(first + k, load_items_apart(first + k, range), range);
    sum = combine(sum, unit_total(import_edge_unit(loaded, first + k, range), first + k, range));
  }
  return fold_threads(sum, thread, workgroup);
}

fn look_back(tile: u32, total: Accumulator, tag: u32, range: Range, thread: Thread, workgroup: Workgroup) -> Accumulator {
  var before = identity();  // in thread 0
  var next = tile;          // tiles from `next` to `tile` are in `before`
  var polls = 0u;
  var is_found = false;
  while (next > 0u && !is_found) {
    if (thread.index < WINDOW) {
      let record = read_record(next - 1u - min(thread.index, next - 1u), tag);
      window_values[thread.index] = record.value;
      window_flags[thread.index] = record.flag;
    }
    workgroupBarrier();  // the window is stored
    if (thread.index == 0u) {
      // No way out of the loop: it unrolls, and the reads do not wait for one another.
      var taken = 0u;
      var is_open = true;
      var has_prefix = false;
      for (var slot = 0u; slot < WINDOW; slot++) {
        let flag = window_flags[slot];
        is_open = is_open && flag != FLAG_MISSING && slot < next;
        before = combine(choose(identity(), window_values[slot], is_open), before);
        taken += select(0u, 1u, is_open);
        has_prefix = has_prefix || (is_open && flag == FLAG_PREFIX);
        is_open = is_open && flag != FLAG_PREFIX;
      }
      shared_look = vec2u(taken, select(0u, 1u, has_prefix));
    }
    let look = workgroupUniformLoad(&shared_look);
    is_found = look.y == 1u;
    next -= look.x;
    polls = select(0u, polls + 1u, look.x == 0u);
    if (polls > POLL_ROUNDS) {
      polls = 0u;
      next -= 1u;
      let lent = lend_total(next, range, thread, workgroup);
      if (thread.index == 0u) {
        // A lent total has no flag that says that nothing before it matters.
        if (!starts_anew(lent)) { lend(next, lent, tag | (FLAG_LENT_TOTAL << 16u)); }
        before = combine(lent, before);
      }
      workgroupBarrier();  // fold_threads may be used again
    }
  }
  if (thread.index == 0u) {
    if (!is_found) { before = combine(initial(), before); }
    shared_before = before;
    let is_published = tile > 0u && starts_anew(total);
    if (!is_published && !is_hidden(tile)) { publish(tile, combine(before, total), tag | (FLAG_PREFIX << 16u), thread); }
  }
  workgroupBarrier();  // thread 0 has stored what it found
  return shared_before;
}
