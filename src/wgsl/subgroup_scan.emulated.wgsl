// Tests only: scans across the lanes of an emulated subgroup, in workgroup memory.
var<workgroup> emulated_lanes: array<Accumulator, WORKGROUP_SIZE>;

fn emulated_store(value: Accumulator, thread: Thread) {
  workgroupBarrier();  // an earlier call has been read
  emulated_lanes[thread.subgroup * EMULATED_SIZE + thread.lane] = value;
  workgroupBarrier();  // every lane has stored
}

fn subgroup_exclusive(value: Accumulator, thread: Thread, workgroup: Workgroup) -> Accumulator {
  emulated_store(value, thread);
  var folded = identity();
  for (var lane = 0u; lane < thread.lane; lane++) {
    folded = combine(folded, emulated_lanes[thread.subgroup * EMULATED_SIZE + lane]);
  }
  return folded;
}

fn subgroup_inclusive(value: Accumulator, thread: Thread, workgroup: Workgroup) -> Accumulator {
  return combine(subgroup_exclusive(value, thread, workgroup), value);
}

fn subgroup_pick(value: Accumulator, lane: u32, thread: Thread) -> Accumulator {
  emulated_store(value, thread);
  return emulated_lanes[thread.subgroup * EMULATED_SIZE + lane];
}
