// probe_subgroups: what subgroups really are. For each thread: size, lane, ballot width, and the least index in its
// subgroup (4 words).
struct ProbeParams {
  one: u32,
}

@group(0) @binding(0) var<uniform> params: ProbeParams;
@group(0) @binding(1) var<storage, read_write> output: array<vec4u>;

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(local_invocation_index) index: u32, @builtin(subgroup_invocation_id) lane: u32,
        @builtin(subgroup_size) subgroup_size: u32) {
  let ballot = countOneBits(subgroupBallot(params.one == 1u));
  let least = subgroupMin(index);
  output[index] = vec4u(subgroup_size, lane, ballot.x + ballot.y + ballot.z + ballot.w, least);
}
