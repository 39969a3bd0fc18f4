// Sums across the threads of a workgroup by subgroups. A second call needs a barrier between.
var<workgroup> subgroup_sums: array<vec2u, SUBGROUP_SLOTS>;

// Sum of the threads of lower rank.
fn threads_exclusive(value: vec2u, thread: Thread, workgroup: Workgroup) -> vec2u {
  var before = subgroupExclusiveAdd(value);
  if (thread.lane == workgroup.subgroup_size - 1u) { subgroup_sums[thread.subgroup] = before + value; }
  workgroupBarrier();  // all subgroups have stored their sums
  for (var s = 0u; s < thread.subgroup; s++) { before += subgroup_sums[s]; }
  return before;
}
