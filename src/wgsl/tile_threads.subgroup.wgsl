// Each subgroup owns ROWS * subgroup_size neighbouring units of a tile, a row of subgroup_size after the other: loads are
// coalesced and a row is in the order of the lanes.
fn first_unit(thread: Thread, workgroup: Workgroup) -> u32 {
  return thread.subgroup * workgroup.subgroup_size * ROWS + thread.lane;
}
fn unit_step(workgroup: Workgroup) -> u32 { return workgroup.subgroup_size; }
fn thread_rank(thread: Thread, workgroup: Workgroup) -> u32 {
  return thread.subgroup * workgroup.subgroup_size + thread.lane;
}
// One thread of the workgroup, in the subgroup that looks back.
fn is_leader(thread: Thread) -> bool { return thread.subgroup == 0u && thread.lane == 0u; }

// What scan_lanes() gives of a value of every lane.
struct LaneScan {
  before: Accumulator,  // fold of the lanes before
  inclusive: Accumulator,
}

// The fold of the subgroups before the thread's own, and of all.
struct SharedTotal {
  before: Accumulator,
  total: Accumulator,
}

var<workgroup> subgroup_totals: array<Accumulator, SUBGROUP_SLOTS>;

fn share_total(own: Accumulator, thread: Thread, workgroup: Workgroup) -> SharedTotal {
  if (thread.lane == 0u) {
    subgroup_totals[thread.subgroup] = own;
  }
  workgroupBarrier();  // one value a subgroup is stored
  return fold_totals(thread, workgroup);
}

// The fold of one value of every thread, in the order of their ranks; every thread gets it. Barrier before reuse.
fn fold_threads(value: Accumulator, thread: Thread, workgroup: Workgroup) -> Accumulator {
  let folded = subgroup_inclusive(value, thread, workgroup);
  return share_total(subgroup_pick(folded, workgroup.subgroup_size - 1u, thread), thread, workgroup).total;
}
