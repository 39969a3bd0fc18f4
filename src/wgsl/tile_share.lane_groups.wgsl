// The totals of any number of subgroups: one a lane, as many at a time as a subgroup has lanes.
fn fold_totals(thread: Thread, workgroup: Workgroup) -> SharedTotal {
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
