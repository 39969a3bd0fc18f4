// Folds one value of every thread; the total is given to thread 0. For operators that commute. One barrier where
// subgroups are wide; narrow ones leave many values, which take further rounds.
// Needs subgroup_fold() and SUBGROUP_SLOTS (workgroup size / smallest possible subgroup size).
// Barrier before reuse: a second call needs a workgroupBarrier() after the first.
var<workgroup> subgroup_values: array<Accumulator, SUBGROUP_SLOTS>;

const LAST_VALUES = 8u;

fn subgroup_value(index: u32, count: u32) -> Accumulator {
  if (index >= count) { return identity(); }
  return subgroup_values[index];
}

fn workgroup_reduce(value: Accumulator, thread: Thread, workgroup: Workgroup) -> Accumulator {
  let folded = subgroup_fold(value, thread, workgroup);
  if (thread.lane == 0u) {
    subgroup_values[thread.subgroup] = folded;
  }
  workgroupBarrier();  // one value a subgroup is stored
  var count = workgroup.subgroup_count;
  while (count > LAST_VALUES) {
    let rank = thread.subgroup * workgroup.subgroup_size + thread.lane;
    let next = subgroup_fold(subgroup_value(rank, count), thread, workgroup);
    count = (count + workgroup.subgroup_size - 1u) / workgroup.subgroup_size;
    workgroupBarrier();  // the values of the round before have been read
    if (thread.lane == 0u && thread.subgroup < count) {
      subgroup_values[thread.subgroup] = next;
    }
    workgroupBarrier();  // the values of this round are stored
  }
  if (thread.index != 0u) { return folded; }
  // A tree in the order of the numbers, so that float sums repeat from run to run.
  return combine(combine(combine(subgroup_value(0u, count), subgroup_value(1u, count)),
                         combine(subgroup_value(2u, count), subgroup_value(3u, count))),
                 combine(combine(subgroup_value(4u, count), subgroup_value(5u, count)),
                         combine(subgroup_value(6u, count), subgroup_value(7u, count))));
}
