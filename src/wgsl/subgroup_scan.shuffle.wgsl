// Scans across the lanes of a subgroup by shuffles; operands keep their order. All lanes are active and subgroups whole
// (the planner sees to it). subgroup_up() and combine_if() are generated.
fn scan_step(value: Accumulator, distance: u32, thread: Thread) -> Accumulator {
  return combine_if(subgroup_up(value, distance), value, thread.lane >= distance);
}

// No loop: compilers keep one as it is, and scans of several values would wait for one another.
fn subgroup_inclusive(value: Accumulator, thread: Thread, workgroup: Workgroup) -> Accumulator {
  let size = workgroup.subgroup_size;
  var folded = scan_step(scan_step(value, 1u, thread), 2u, thread);
  if (WIDEST_SUBGROUP > 4u && size > 4u) { folded = scan_step(folded, 4u, thread); }
  if (WIDEST_SUBGROUP > 8u && size > 8u) { folded = scan_step(folded, 8u, thread); }
  if (WIDEST_SUBGROUP > 16u && size > 16u) { folded = scan_step(folded, 16u, thread); }
  if (WIDEST_SUBGROUP > 32u && size > 32u) { folded = scan_step(folded, 32u, thread); }
  if (WIDEST_SUBGROUP > 64u && size > 64u) { folded = scan_step(folded, 64u, thread); }
  return folded;
}

fn scan_lanes(value: Accumulator, thread: Thread, workgroup: Workgroup) -> LaneScan {
  let inclusive = subgroup_inclusive(value, thread, workgroup);
  return LaneScan(choose(identity(), subgroup_up(inclusive, 1u), thread.lane > 0u), inclusive);
}
