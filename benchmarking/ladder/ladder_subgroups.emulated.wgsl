// Tests only: the same in workgroup memory, for sizes that no device at hand has.
var<workgroup> emulated_values: array<Item, WORKGROUP_SIZE>;

fn emulated_sum(value: Item, thread: Thread, end: u32) -> Item {
  workgroupBarrier();  // an earlier call has been read
  emulated_values[thread.subgroup * EMULATED_SIZE + thread.lane] = value;
  workgroupBarrier();  // every lane has stored
  var sum = Item();
  for (var lane = 0u; lane < end; lane++) {
    sum += emulated_values[thread.subgroup * EMULATED_SIZE + lane];
  }
  return sum;
}

fn subgroup_sum(value: Item, thread: Thread) -> Item {
  return emulated_sum(value, thread, EMULATED_SIZE);
}

fn subgroup_sum_before(value: Item, thread: Thread) -> Item {
  return emulated_sum(value, thread, thread.lane);
}
