// Subgroups scan in registers; their totals go through workgroup memory with one barrier, and every subgroup sums those
// before it. Textbooks let one subgroup scan all totals at once, which is wrong where there are more subgroups than
// lanes: 64 subgroups of 4 lanes in a workgroup of 256. Here it takes as many rounds as are needed.
// Needs SUBGROUP_SLOTS (workgroup size / smallest possible subgroup size).
var<workgroup> subgroup_totals: array<Item, SUBGROUP_SLOTS>;

// No rule says that subgroups follow the thread index.
fn thread_rank(thread: Thread, workgroup: Workgroup) -> u32 {
  return thread.subgroup * workgroup.subgroup_size + thread.lane;
}

fn scan_workgroup(value: Item, thread: Thread, workgroup: Workgroup) -> WorkgroupScan {
  let before_in_subgroup = subgroup_sum_before(value, thread);
  let subgroup_total = subgroup_sum(value, thread);
  if (thread.lane == 0u) {
    subgroup_totals[thread.subgroup] = subgroup_total;
  }
  workgroupBarrier();  // one total a subgroup is stored
  var before = Item();
  var total = Item();
  for (var first = 0u; first < workgroup.subgroup_count; first += workgroup.subgroup_size) {
    let other = first + thread.lane;
    var other_total = Item();
    if (other < workgroup.subgroup_count) {
      other_total = subgroup_totals[other];
    }
    before += subgroup_sum(select(Item(), other_total, other < thread.subgroup), thread);
    total += subgroup_sum(other_total, thread);
  }
  return WorkgroupScan(before + before_in_subgroup, total);
}
