// The totals of few subgroups, one after the other: no shuffles, so nothing waits but for workgroup memory.
fn fold_totals(thread: Thread, workgroup: Workgroup) -> SharedTotal {
  var shared_total = SharedTotal(identity(), identity());
  for (var k = 0u; k < WHOLE_SUBGROUPS; k++) {
    shared_total.before = choose(shared_total.before, shared_total.total, k == thread.subgroup);
    shared_total.total = combine(shared_total.total, subgroup_totals[k]);
  }
  return shared_total;
}
