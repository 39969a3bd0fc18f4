// Sums of LANES neighbouring lanes by shuffles. Subgroups are whole and at least LANES wide (the planner sees to it).
fn thread_rank(thread: Thread, workgroup: Workgroup) -> u32 {
  return thread.subgroup * workgroup.subgroup_size + thread.lane;
}
fn fold_lanes(own: f32, rank: u32, workgroup: Workgroup) -> f32 {
  var sum = own;
  // No loop, as in subgroup_scan.shuffle.
  if (LANES > 64u) { sum += subgroupShuffleXor(sum, 64u); }
  if (LANES > 32u) { sum += subgroupShuffleXor(sum, 32u); }
  if (LANES > 16u) { sum += subgroupShuffleXor(sum, 16u); }
  if (LANES > 8u) { sum += subgroupShuffleXor(sum, 8u); }
  if (LANES > 4u) { sum += subgroupShuffleXor(sum, 4u); }
  if (LANES > 2u) { sum += subgroupShuffleXor(sum, 2u); }
  if (LANES > 1u) { sum += subgroupShuffleXor(sum, 1u); }
  return sum;
}
