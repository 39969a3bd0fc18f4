// Folds one value of every thread in thread order; the total is given to thread 0. The operator need not commute.
// Barrier before reuse: a second call needs a workgroupBarrier() after the first.
var<workgroup> reduce_values: array<Accumulator, WORKGROUP_SIZE>;

fn workgroup_reduce(value: Accumulator, thread: Thread, workgroup: Workgroup) -> Accumulator {
  reduce_values[thread.index] = value;
  for (var stride = 1u; stride < WORKGROUP_SIZE; stride *= 2u) {
    workgroupBarrier();  // the level below is complete
    let left = thread.index * 2u * stride;
    if (left + stride < WORKGROUP_SIZE) {
      reduce_values[left] = combine(reduce_values[left], reduce_values[left + stride]);
    }
  }
  return reduce_values[thread.index];
}
