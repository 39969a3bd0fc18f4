// Places of keys by subgroups. Each subgroup owns consecutive items of the tile, a row of them at a time, and a row of
// counters, one a digit. A key's place is where its digit begins in the row and the number of keys before it in the row
// that hold the same digit. The counters lie in the memory that stages the items later.
//
// Prelude gives  STAGE_WORDS, COUNTER_ROWS, DIGITS, ITEMS_PER_THREAD
// Generated      count_row, place_keys
var<workgroup> stage: array<atomic<u32>, STAGE_WORDS>;

fn stage_put(at: u32, word: u32) { atomicStore(&stage[at], word); }
fn stage_get(at: u32) -> u32 { return atomicLoad(&stage[at]); }

fn thread_rank(thread: Thread, workgroup: Workgroup) -> u32 {
  return thread.subgroup * workgroup.subgroup_size + thread.lane;
}
fn first_item(thread: Thread, workgroup: Workgroup) -> u32 {
  return thread.subgroup * workgroup.subgroup_size * ITEMS_PER_THREAD + thread.lane;
}
fn item_step(workgroup: Workgroup) -> u32 { return workgroup.subgroup_size; }

// Not needed for the first tile: workgroup memory begins as zeros.
fn clear_counts(thread: Thread) {
  workgroupBarrier();  // the memory has been read
  for (var i = thread.index; i < COUNTER_ROWS * DIGITS; i += WORKGROUP_SIZE) { stage_put(i, 0u); }
  workgroupBarrier();  // the counters are zero
}

// How often the digit of this thread's rank occurs in the tile.
fn count_digits(keys: Keys, digit: Digit, first: u32, step: u32, room: u32, thread: Thread, workgroup: Workgroup) -> u32 {
  count_row(keys, digit, first, step, room, thread.subgroup * DIGITS);
  workgroupBarrier();  // all rows are counted
  let rank = thread_rank(thread, workgroup);
  var count = 0u;
  if (rank < DIGITS) {
    for (var row = 0u; row < COUNTER_ROWS; row++) { count += stage_get(row * DIGITS + rank); }
  }
  return count;
}

// Turns the counters into places: `start` is that of the digit of this thread's rank.
fn start_places(start: u32, thread: Thread, workgroup: Workgroup) {
  let rank = thread_rank(thread, workgroup);
  if (rank < DIGITS) {
    var place = start;
    for (var row = 0u; row < COUNTER_ROWS; row++) {
      let count = stage_get(row * DIGITS + rank);
      stage_put(row * DIGITS + rank, place);
      place += count;
    }
  }
  workgroupBarrier();  // all counters are places
}
