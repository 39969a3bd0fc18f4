// Sums across the threads of a workgroup by subgroups. A second call needs a barrier between.
var<workgroup> subgroup_sums: array<vec2u, COUNTER_ROWS>;

// Sum of the threads of lower rank.
fn threads_exclusive(value: vec2u, thread: Thread, workgroup: Workgroup) -> vec2u {
  var before = subgroupExclusiveAdd(value);
  if (thread.lane == workgroup.subgroup_size - 1u) { subgroup_sums[thread.subgroup] = before + value; }
  workgroupBarrier();  // all subgroups have stored their sums
  // Each subgroup has a row of counters. A loop to the thread's own one would not unroll.
  for (var s = 0u; s < COUNTER_ROWS; s++) { before += select(vec2u(0u), subgroup_sums[s], s < thread.subgroup); }
  return before;
}
