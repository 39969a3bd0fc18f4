// Folds one value of every lane for operators without a builtin; every lane gets the total. The operator commutes and
// all lanes are active (the planner checks that the workgroup is made of whole subgroups).
fn subgroup_fold(value: Accumulator, thread: Thread, workgroup: Workgroup) -> Accumulator {
  var total = value;
  for (var distance = 1u; distance < workgroup.subgroup_size; distance *= 2u) {
    total = combine(total, subgroupShuffleXor(total, distance));
  }
  return total;
}
