// reduce_by_key_carries: runs that go on past the tile in which they begin. Each workgroup takes WORKGROUP_SIZE records of
// tiles; a tile in which a run begins ends the one before. Mostly that began in the tile before; where a tile has no run
// of its own, what last runs come to is scanned.
//
// Prelude gives  InnerAccumulator, WORKGROUP_SIZE
// Parts give     combine_values, no_value, result_value (the operator), tile_index (grid), TileRun (generated)
struct CarryParams {
  record_count: u32,
  grid_width: u32,
  grid_height: u32,
  results_first: u32,
  count_out_first: u32,
}

@group(0) @binding(0) var<uniform> params: CarryParams;
@group(0) @binding(4) var<storage, read_write> results: array<RawResult>;
@group(0) @binding(5) var<storage, read_write> records: array<TileRun>;
@group(0) @binding(6) var<storage, read_write> count: array<u32>;

const WALK = 8u;  // records a thread at a time, where a run goes on for long

// The run that is open after some tiles: what it came to in them, and whether it began there.
struct Open {
  value: InnerAccumulator,
  is_new: u32,
}

var<workgroup> scanned: array<Open, 2u * WORKGROUP_SIZE>;
var<workgroup> tiles_without_heads: atomic<u32>;
var<workgroup> shared_must_scan: u32;
var<workgroup> shared_next: u32;

fn no_open() -> Open { return Open(no_value(), 0u); }
fn combine_open(a: Open, b: Open) -> Open {
  if (b.is_new != 0u) { return b; }
  return Open(combine_values(a.value, b.value), a.is_new);
}

fn open_of(index: u32) -> Open {
  if (index >= params.record_count) { return no_open(); }
  return Open(records[index].tail, select(1u, 0u, records[index].heads_before == NO_HEADS));
}

// Where the scan of one value of every thread begins in `scanned`. Barrier before reuse.
fn scan_open(own: Open, thread: Thread) -> u32 {
  var sum = own;
  scanned[thread.index] = sum;
  var source = 0u;
  for (var stride = 1u; stride < WORKGROUP_SIZE; stride *= 2u) {
    workgroupBarrier();  // the level below is complete
    if (thread.index >= stride) { sum = combine_open(scanned[source + thread.index - stride], sum); }
    source = WORKGROUP_SIZE - source;
    scanned[source + thread.index] = sum;
  }
  workgroupBarrier();  // the scan is complete
  return source;
}

fn run(workgroup: Workgroup, thread: Thread) {
  let first = tile_index(workgroup.id, params.grid_width, params.grid_height) * WORKGROUP_SIZE;
  if (first >= params.record_count) { return; }
  let index = first + thread.index;
  let is_record = index < params.record_count;
  let total = count[params.count_out_first];
  let is_last = index == params.record_count - 1u && total != 0u;
  let heads_before = select(NO_HEADS, records[min(index, params.record_count - 1u)].heads_before, is_record);
  let ends = heads_before != NO_HEADS && heads_before != 0u;
  let own = open_of(index);
  var before = no_open();
  if (is_record && index > 0u) {
    before = open_of(index - 1u);
    if (before.is_new == 0u) { atomicAdd(&tiles_without_heads, 1u); }
  }
  workgroupBarrier();  // all records are counted
  if (thread.index == 0u) {
    shared_next = 0u;
    shared_must_scan = atomicLoad(&tiles_without_heads);
  }
  if (workgroupUniformLoad(&shared_must_scan) != 0u) {
    let source = scan_open(own, thread);
    before = no_open();
    if (thread.index > 0u) { before = scanned[source + thread.index - 1u]; }
    let after = scanned[source + thread.index];
    // One thread at most ends a run of the records before: the first that ends one.
    var earlier = no_open();
    if (first != 0u) { earlier = open_of(first - 1u); }
    if (((ends && before.is_new == 0u) || (is_last && after.is_new == 0u)) && earlier.is_new == 0u && first != 0u) {
      shared_next = first - 1u;
    }
    for (var next = workgroupUniformLoad(&shared_next); next > 0u; next = workgroupUniformLoad(&shared_next)) {
      // The last thread's are the nearest.
      var window = no_open();
      let distance = (WORKGROUP_SIZE - thread.index) * WALK;
      for (var k = 0u; k < WALK; k++) {
        if (next + k >= distance) { window = combine_open(window, open_of(next + k - distance)); }
      }
      let folded = scanned[scan_open(window, thread) + WORKGROUP_SIZE - 1u];
      earlier = combine_open(folded, earlier);
      if (thread.index == 0u) {
        shared_next = select(next - min(next, WORKGROUP_SIZE * WALK), 0u, earlier.is_new != 0u);
      }
    }
    before = combine_open(earlier, before);
  }
  if (ends) {
    let value = combine_values(before.value, records[index].lead);
    results[params.results_first + heads_before - 1u] = result_value(value);
  }
  if (is_last) {
    results[params.results_first + total - 1u] = result_value(combine_open(before, own).value);
  }
}
