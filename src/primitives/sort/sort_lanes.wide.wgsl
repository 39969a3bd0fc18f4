// Sets of lanes of subgroups of up to 128.
alias LaneMask = vec4u;

fn keep_lanes(mask: LaneMask, ones: LaneMask, vote: bool) -> LaneMask { return mask & select(~ones, ones, vote); }
fn lanes_below(lane: u32) -> LaneMask {
  let lanes = vec4u(max(vec4u(lane), vec4u(0u, 32u, 64u, 96u)) - vec4u(0u, 32u, 64u, 96u));
  return select((vec4u(1u) << min(lanes, vec4u(31u))) - vec4u(1u), vec4u(0xffffffffu), lanes > vec4u(31u));
}
fn count_lanes(mask: LaneMask) -> u32 {
  let counts = countOneBits(mask);
  return counts.x + counts.y + counts.z + counts.w;
}
fn lowest_lane(mask: LaneMask) -> u32 {
  let word = select(select(select(3u, 2u, mask.z != 0u), 1u, mask.y != 0u), 0u, mask.x != 0u);
  return word * 32u + countTrailingZeros(mask[word]);
}
