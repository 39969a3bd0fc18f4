// Scans of 64-bit sums across the lanes of a subgroup, low word first. Sums of the low words are scanned alone: a lane
// whose sum is less than what it added has wrapped, and a ballot tells how often that was. All lanes are active and
// subgroups whole (the planner sees to it). lanes_up_to() is generated.
fn count_lanes(lanes: vec4u) -> u32 {
  let counts = countOneBits(lanes);
  return counts.x + counts.y + counts.z + counts.w;
}

fn subgroup_inclusive(value: Accumulator, thread: Thread, workgroup: Workgroup) -> Accumulator {
  let low = subgroupInclusiveAdd(value.x);
  let wraps = count_lanes(subgroupBallot(low < value.x) & lanes_up_to(thread.lane));
  return vec2u(low, subgroupInclusiveAdd(value.y) + wraps);
}

// What an inclusive scan is without the lane's own value.
fn scan_without(inclusive: Accumulator, value: Accumulator) -> Accumulator {
  return vec2u(inclusive.x - value.x, inclusive.y - value.y - select(0u, 1u, inclusive.x < value.x));
}

fn subgroup_exclusive(value: Accumulator, thread: Thread, workgroup: Workgroup) -> Accumulator {
  return scan_without(subgroup_inclusive(value, thread, workgroup), value);
}

fn subgroup_fold(value: Accumulator, thread: Thread, workgroup: Workgroup) -> Accumulator {
  let low = subgroupInclusiveAdd(value.x);
  let wraps = count_lanes(subgroupBallot(low < value.x));
  return vec2u(subgroupShuffle(low, workgroup.subgroup_size - 1u), subgroupAdd(value.y) + wraps);
}
