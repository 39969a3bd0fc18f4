// Entry point for devices whose WGSL numbers the subgroups itself.
@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) id: vec3u, @builtin(local_invocation_index) index: u32,
        @builtin(subgroup_id) subgroup: u32, @builtin(subgroup_invocation_id) lane: u32,
        @builtin(subgroup_size) subgroup_size: u32, @builtin(num_subgroups) subgroup_count: u32) {
  run(Workgroup(id, subgroup_size, subgroup_count), Thread(index, subgroup, lane));
}
