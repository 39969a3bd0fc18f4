// Scan of a tile's units in workgroup memory. Units lie row after row; each thread rakes ROWS neighbouring ones, and the
// sums of the rakes are scanned (Kogge and Stone 1973). put_rows() and get_rows() are generated. Barrier before reuse.
fn first_unit(thread: Thread, workgroup: Workgroup) -> u32 { return thread.index; }
fn unit_step(workgroup: Workgroup) -> u32 { return WORKGROUP_SIZE; }
fn thread_rank(thread: Thread, workgroup: Workgroup) -> u32 { return thread.index; }
fn is_leader(thread: Thread) -> bool { return thread.index == 0u; }

struct TileTotal {
  before: Accumulator,
  total: Accumulator,
}

// A gap after every ROWS values: rakes of neighbouring threads begin in different banks.
var<workgroup> row_values: array<Accumulator, ROWS * WORKGROUP_SIZE + WORKGROUP_SIZE>;
var<workgroup> rake_values: array<Accumulator, 2u * WORKGROUP_SIZE>;

fn row_slot(unit: u32) -> u32 { return unit + unit / ROWS; }

// Where the scan of one value of every thread begins in rake_values.
fn scan_rakes(own: Accumulator, thread: Thread) -> u32 {
  var sum = own;
  rake_values[thread.index] = sum;
  var source = 0u;
  for (var stride = 1u; stride < WORKGROUP_SIZE; stride *= 2u) {
    workgroupBarrier();  // the level below is complete
    if (thread.index >= stride) {
      sum = combine(rake_values[source + thread.index - stride], sum);
    }
    source = WORKGROUP_SIZE - source;
    rake_values[source + thread.index] = sum;
  }
  workgroupBarrier();  // the scan is complete
  return source;
}

// The fold of one value of every thread, in the order of their ranks; every thread gets it. Barrier before reuse.
fn fold_threads(value: Accumulator, thread: Thread, workgroup: Workgroup) -> Accumulator {
  return rake_values[scan_rakes(value, thread) + WORKGROUP_SIZE - 1u];
}

fn total_tile(rows: Rows, thread: Thread, workgroup: Workgroup) -> TileTotal {
  put_rows(rows, thread.index);
  workgroupBarrier();  // every unit is stored
  let first = thread.index * (ROWS + 1u);
  var sum = row_values[first];
  for (var k = 1u; k < ROWS; k++) { sum = combine(sum, row_values[first + k]); }
  let source = scan_rakes(sum, thread);
  var before = identity();
  if (thread.index > 0u) { before = rake_values[source + thread.index - 1u]; }
  for (var k = 0u; k < ROWS; k++) {
    let value = row_values[first + k];
    row_values[first + k] = before;
    before = combine(before, value);
  }
  return TileTotal(identity(), rake_values[source + WORKGROUP_SIZE - 1u]);
}

// For each unit the fold of all before it in the tile.
fn scan_tile(rows: Rows, total: TileTotal, thread: Thread, workgroup: Workgroup) -> Rows {
  workgroupBarrier();  // every rake has been written back
  return get_rows(thread.index);
}
