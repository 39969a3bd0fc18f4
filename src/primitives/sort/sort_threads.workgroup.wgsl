// Sums across the threads of a workgroup in workgroup memory: RAKE threads' values a raking thread. A second call needs a
// barrier between.
//
// Prelude gives  WORKGROUP_SIZE, RAKE (divides it)
// Parts give     thread_rank
var<workgroup> thread_values: array<vec2u, WORKGROUP_SIZE>;
var<workgroup> rake_sums: array<vec2u, WORKGROUP_SIZE / RAKE>;

struct ThreadsScan {
  before: vec2u,  // sum of the threads of lower rank
  total: vec2u,
}

fn scan_threads(value: vec2u, thread: Thread, workgroup: Workgroup) -> ThreadsScan {
  let rank = thread_rank(thread, workgroup);
  thread_values[rank] = value;
  workgroupBarrier();  // all values are stored
  if (rank < WORKGROUP_SIZE / RAKE) {
    var sum = vec2u(0u);
    for (var i = rank * RAKE; i < (rank + 1u) * RAKE; i++) {
      let next = thread_values[i];
      thread_values[i] = sum;
      sum += next;
    }
    rake_sums[rank] = sum;
  }
  workgroupBarrier();  // all rakes are summed
  var scan = ThreadsScan(thread_values[rank], vec2u(0u));
  for (var rake = 0u; rake < WORKGROUP_SIZE / RAKE; rake++) {
    if (rake < rank / RAKE) { scan.before += rake_sums[rake]; }
    scan.total += rake_sums[rake];
  }
  return scan;
}

fn threads_exclusive(value: vec2u, thread: Thread, workgroup: Workgroup) -> vec2u {
  return scan_threads(value, thread, workgroup).before;
}
