// Kogge and Stone's scan in workgroup memory: in each of log2(threads) steps every thread adds the sum that ends
// `distance` before its own. More additions than Blelloch's tree, half the steps, and no conflicts. Two buffers take
// turns, so that a step needs one barrier.
var<workgroup> values: array<Item, 2u * WORKGROUP_SIZE>;

fn thread_rank(thread: Thread, workgroup: Workgroup) -> u32 {
  return thread.index;
}

fn scan_workgroup(value: Item, thread: Thread, workgroup: Workgroup) -> WorkgroupScan {
  var buffer = 0u;
  values[thread.index] = value;
  for (var distance = 1u; distance < WORKGROUP_SIZE; distance *= 2u) {
    workgroupBarrier();  // the step before is stored, and what it read may be overwritten
    var sum = values[buffer + thread.index];
    if (thread.index >= distance) {
      sum += values[buffer + thread.index - distance];
    }
    buffer = WORKGROUP_SIZE - buffer;
    values[buffer + thread.index] = sum;
  }
  workgroupBarrier();  // all sums are stored
  let total = values[buffer + WORKGROUP_SIZE - 1u];
  if (thread.index == 0u) {
    return WorkgroupScan(Item(), total);
  }
  return WorkgroupScan(values[buffer + thread.index - 1u], total);
}
