// Counters of all cells of a window in workgroup memory, COPIES of each side by side: threads that meet in a bin are
// spread over them. Generated beside it: add_to_cell.
var<private> window_first: u32;
var<private> copy: u32;

fn begin_counting(first_cell: u32, thread: Thread) {
  window_first = first_cell;
  copy = thread.index % COPIES;
  for (var counter = thread.index; counter < COUNTER_COUNT; counter += WORKGROUP_SIZE) { clear_counter(counter); }
  workgroupBarrier();  // all are zero
}

fn end_tile() {}

fn end_counting(thread: Thread) {
  workgroupBarrier();  // all have counted
  let cell_count = min(params.window_cells, max(params.cell_count, window_first) - window_first);
  for (var cell = thread.index; cell < cell_count; cell += WORKGROUP_SIZE) {
    var amount = load_counter(cell * COPIES);
    for (var i = 1u; i < COPIES; i++) { amount = add_amounts(amount, load_counter(cell * COPIES + i)); }
    emit(window_first + cell, amount);
  }
}
