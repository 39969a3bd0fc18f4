// scan_lanes() where subgroup_exclusive() comes first.
fn scan_lanes(value: Accumulator, thread: Thread, workgroup: Workgroup) -> LaneScan {
  let before = subgroup_exclusive(value, thread, workgroup);
  return LaneScan(before, combine(before, value));
}
