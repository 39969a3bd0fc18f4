// Folds one value of every thread with one barrier; the total is given to thread 0. For operators that commute.
// Needs subgroup_fold() and SUBGROUP_SLOTS (workgroup size / smallest possible subgroup size).
// Barrier before reuse: a second call needs a workgroupBarrier() after the first.
var<workgroup> subgroup_values: array<Accumulator, SUBGROUP_SLOTS>;

fn workgroup_reduce(value: Accumulator, thread: Thread, workgroup: Workgroup) -> Accumulator {
  let folded = subgroup_fold(value, thread, workgroup);
  if (thread.lane == 0u) {
    subgroup_values[thread.subgroup] = folded;
  }
  workgroupBarrier();  // one value a subgroup is stored
  var total = folded;
  if (thread.index == 0u) {
    // In the order of the numbers, so that float sums repeat from run to run.
    total = subgroup_values[0];
    for (var other = 1u; other < workgroup.subgroup_count; other++) {
      total = combine(total, subgroup_values[other]);
    }
  }
  return total;
}
