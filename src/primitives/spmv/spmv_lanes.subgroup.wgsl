// Sums of LANES neighbouring lanes by shuffles. Subgroups are whole and at least LANES wide (the planner sees to it).
fn thread_rank(thread: Thread, workgroup: Workgroup) -> u32 {
  return thread.subgroup * workgroup.subgroup_size + thread.lane;
}
fn fold_lanes(own: f32, rank: u32, workgroup: Workgroup) -> f32 {
  var sum = own;
  for (var distance = LANES / 2u; distance > 0u; distance /= 2u) { sum += subgroupShuffleXor(sum, distance); }
  return sum;
}
