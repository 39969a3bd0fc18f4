// Entry point for devices without the builtin subgroup_id on which the probe saw subgroups follow the index.
@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) id: vec3u, @builtin(local_invocation_index) index: u32,
        @builtin(subgroup_invocation_id) lane: u32, @builtin(subgroup_size) subgroup_size: u32) {
  let subgroup_count = (WORKGROUP_SIZE + subgroup_size - 1u) / subgroup_size;
  run(Workgroup(id, subgroup_size, subgroup_count), Thread(index, index / subgroup_size, lane));
}
