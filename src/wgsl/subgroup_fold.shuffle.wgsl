// Folds one value of every lane for operators without a builtin; every lane gets the total. The operator commutes and
// all lanes are active (the planner checks that the workgroup is made of whole subgroups).
fn fold_step(value: Accumulator, distance: u32) -> Accumulator {
  return combine(value, subgroupShuffleXor(value, distance));
}

// No loop, as in subgroup_scan.shuffle.
fn subgroup_fold(value: Accumulator, thread: Thread, workgroup: Workgroup) -> Accumulator {
  let size = workgroup.subgroup_size;
  var folded = fold_step(fold_step(value, 1u), 2u);
  if (WIDEST_SUBGROUP > 4u && size > 4u) { folded = fold_step(folded, 4u); }
  if (WIDEST_SUBGROUP > 8u && size > 8u) { folded = fold_step(folded, 8u); }
  if (WIDEST_SUBGROUP > 16u && size > 16u) { folded = fold_step(folded, 16u); }
  if (WIDEST_SUBGROUP > 32u && size > 32u) { folded = fold_step(folded, 32u); }
  if (WIDEST_SUBGROUP > 64u && size > 64u) { folded = fold_step(folded, 64u); }
  return folded;
}
