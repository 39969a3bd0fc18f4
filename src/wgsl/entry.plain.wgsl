// Entry point of kernels that use no subgroups.
@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) id: vec3u, @builtin(local_invocation_index) index: u32) {
  run(Workgroup(id, 0u, 0u), Thread(index, 0u, 0u));
}
