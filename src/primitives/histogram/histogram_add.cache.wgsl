// More cells than workgroup memory holds: the first cell that meets a slot is counted there, others in the output.
// What is frequent gets its slot early, so that no word of the output is fought over.
var<workgroup> owners: array<atomic<u32>, COUNTER_COUNT>;

fn begin_counting(first_cell: u32, thread: Thread) {
  for (var slot = thread.index; slot < COUNTER_COUNT; slot += WORKGROUP_SIZE) {
    atomicStore(&owners[slot], NO_CELL);
    clear_counter(slot);
  }
  workgroupBarrier();  // all slots are free
}

fn add_to_cell(cell: u32, amount: Amount) {
  if (cell >= params.cell_count) { return; }
  let slot = cell % COUNTER_COUNT;
  var owner = atomicLoad(&owners[slot]);
  if (owner == NO_CELL) {
    // May fail without a reason; then the output gets the amount.
    let taken = atomicCompareExchangeWeak(&owners[slot], NO_CELL, cell);
    owner = select(taken.old_value, cell, taken.exchanged);
  }
  if (owner == cell) { add_to_counter(slot, amount); } else { emit(cell, amount); }
}

fn end_tile() {}

fn end_counting(thread: Thread) {
  workgroupBarrier();  // all have counted
  for (var slot = thread.index; slot < COUNTER_COUNT; slot += WORKGROUP_SIZE) {
    let owner = atomicLoad(&owners[slot]);
    if (owner != NO_CELL) { emit(owner, load_counter(slot)); }
  }
}
