// Sets of lanes of subgroups of up to 32.
alias LaneMask = u32;

fn ballot(vote: bool) -> LaneMask { return subgroupBallot(vote).x; }
fn keep_lanes(mask: LaneMask, ones: LaneMask, vote: bool) -> LaneMask { return mask & select(~ones, ones, vote); }
fn lanes_below(lane: u32) -> LaneMask { return (1u << lane) - 1u; }
fn count_lanes(mask: LaneMask) -> u32 { return countOneBits(mask); }
fn lowest_lane(mask: LaneMask) -> u32 { return countTrailingZeros(mask); }
