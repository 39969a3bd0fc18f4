// Tests only: lanes that hold the same digit, and values of other lanes, in workgroup memory.
var<workgroup> emulated_lanes: array<u32, WORKGROUP_SIZE>;

fn emulated_store(value: u32, thread: Thread) {
  workgroupBarrier();  // an earlier call has been read
  emulated_lanes[thread.subgroup * EMULATED_SIZE + thread.lane] = value;
  workgroupBarrier();  // every lane has stored
}

fn peers(digit: u32, thread: Thread) -> LaneMask {
  emulated_store(digit, thread);
  var mask = vec4u(0u);
  for (var lane = 0u; lane < EMULATED_SIZE; lane++) {
    if (emulated_lanes[thread.subgroup * EMULATED_SIZE + lane] == digit) { mask[lane / 32u] |= 1u << (lane % 32u); }
  }
  return mask;
}

fn pick_lane(value: u32, lane: u32, thread: Thread) -> u32 {
  emulated_store(value, thread);
  return emulated_lanes[thread.subgroup * EMULATED_SIZE + lane];
}
