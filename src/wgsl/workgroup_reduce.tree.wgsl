// Folds one value of every thread; the total is given to thread 0. For operators that commute.
// Barrier before reuse: a second call needs a workgroupBarrier() after the first.
var<workgroup> reduce_values: array<Accumulator, WORKGROUP_SIZE>;

fn workgroup_reduce(value: Accumulator, thread: Thread, workgroup: Workgroup) -> Accumulator {
  reduce_values[thread.index] = value;
  // The stride starts at half the size: neighbours read neighbours, so no two threads meet in a bank.
  for (var stride = WORKGROUP_SIZE / 2u; stride > 0u; stride /= 2u) {
    workgroupBarrier();  // the level above is complete
    if (thread.index < stride) {
      reduce_values[thread.index] = combine(reduce_values[thread.index], reduce_values[thread.index + stride]);
    }
  }
  return reduce_values[thread.index];
}
