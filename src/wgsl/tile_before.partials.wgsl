// Folds the totals of `count` chunks from `first` on; every thread gets the result.
@group(0) @binding(11) var<storage, read_write> partials: array<Accumulator>;

fn fold_chunks(first: u32, count: u32, thread: Thread, workgroup: Workgroup) -> Accumulator {
  // A run of neighbours a thread where the operator does not commute.
  let share = (count + WORKGROUP_SIZE - 1u) / WORKGROUP_SIZE;
  let rank = thread_rank(thread, workgroup);
  let step = select(1u, WORKGROUP_SIZE, IS_COMMUTATIVE);
  let begin = select(rank * share, rank, IS_COMMUTATIVE);
  let end = select(min(begin + share, count), count, IS_COMMUTATIVE);
  var sum = identity();
  for (var chunk = begin; chunk < end; chunk += step) {
    sum = combine(sum, partials[first + chunk]);
  }
  let total = fold_threads(sum, thread, workgroup);
  workgroupBarrier();  // fold_threads may be used again
  return total;
}
