// Each thread counts in registers: four cells a word while it is in a tile, which has at most 255 samples a thread.
// Generated beside it: add_to_cell, end_tile, add_totals.
fn begin_counting(first_cell: u32, thread: Thread) {
  for (var counter = thread.index; counter < COUNTER_COUNT; counter += WORKGROUP_SIZE) { clear_counter(counter); }
  workgroupBarrier();  // all are zero
}

fn end_counting(thread: Thread) {
  add_totals();
  workgroupBarrier();  // all have added theirs
  for (var cell = thread.index; cell < params.cell_count; cell += WORKGROUP_SIZE) { emit(cell, load_counter(cell)); }
}
