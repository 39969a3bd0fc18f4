// Scans across the lanes of a subgroup by shuffles; operands keep their order. All lanes are active and subgroups whole
// (the planner sees to it). subgroup_up() and combine_if() are generated.
fn subgroup_inclusive(value: Accumulator, thread: Thread, workgroup: Workgroup) -> Accumulator {
  var folded = value;
  for (var distance = 1u; distance < workgroup.subgroup_size; distance *= 2u) {
    let left = subgroup_up(folded, distance);
    folded = combine_if(left, folded, thread.lane >= distance);
  }
  return folded;
}

fn subgroup_exclusive(value: Accumulator, thread: Thread, workgroup: Workgroup) -> Accumulator {
  let left = subgroup_up(subgroup_inclusive(value, thread, workgroup), 1u);
  return choose(identity(), left, thread.lane > 0u);
}
