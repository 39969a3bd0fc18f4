// Tests only: the fold of a subgroup in workgroup memory, for widths that no device at hand has.
var<workgroup> emulated_values: array<Accumulator, WORKGROUP_SIZE>;

fn subgroup_fold(value: Accumulator, thread: Thread, workgroup: Workgroup) -> Accumulator {
  workgroupBarrier();  // an earlier call has been read
  emulated_values[thread.subgroup * EMULATED_SIZE + thread.lane] = value;
  workgroupBarrier();  // every lane has stored
  var total = emulated_values[thread.subgroup * EMULATED_SIZE];
  for (var lane = 1u; lane < EMULATED_SIZE; lane++) {
    total = combine(total, emulated_values[thread.subgroup * EMULATED_SIZE + lane]);
  }
  return total;
}
