// Sums of a subgroup: of all lanes, and of the lanes before one's own.
fn subgroup_sum(value: Item, thread: Thread) -> Item {
  return subgroupAdd(value);
}

fn subgroup_sum_before(value: Item, thread: Thread) -> Item {
  return subgroupExclusiveAdd(value);
}
