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
  let size = workgroup.subgroup_size;
  var shared_total = SharedTotal(identity(), identity());
  for (var first = 0u; first < workgroup.subgroup_count; first += size) {
    let slot = first + thread.lane;
    let value = subgroup_totals[min(slot, SUBGROUP_SLOTS - 1u)];
    let folded = subgroup_inclusive(choose(identity(), value, slot < workgroup.subgroup_count), thread, workgroup);
    let left = clamp(thread.subgroup, first + 1u, first + size) - first - 1u;
    let before = combine(shared_total.total, subgroup_pick(folded, left, thread));
    shared_total.before = choose(shared_total.before, before, thread.subgroup > first);
    shared_total.total = combine(shared_total.total, subgroup_pick(folded, size - 1u, thread));
  }
  return shared_total;
}

// The fold of one value of every thread, in the order of their ranks; every thread gets it. Barrier before reuse.
fn fold_threads(value: Accumulator, thread: Thread, workgroup: Workgroup) -> Accumulator {
  let folded = subgroup_inclusive(value, thread, workgroup);
  return share_total(subgroup_pick(folded, workgroup.subgroup_size - 1u, thread), thread, workgroup).total;
}
