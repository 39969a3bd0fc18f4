// For kernels that write the arguments of an indirect dispatch: `workgroup_count` workgroups folded into up to three
// dimensions of at most `limit`, as x, y, z. Surplus workgroups must be skipped by comparing tile_index() (grid.wgsl;
// pass it these x and y) with the count. Zero workgroups give 0, 1, 1. Counts up to limit^3.
fn dispatch_arguments(workgroup_count: u32, limit: u32) -> vec3u {
  if (workgroup_count <= limit) { return vec3u(workgroup_count, 1u, 1u); }
  // limit^2 may not fit into 32 bits; then two dimensions always do.
  var z = 1u;
  if (limit < 65536u) {
    let plane_limit = limit * limit;
    z = workgroup_count / plane_limit + select(0u, 1u, workgroup_count % plane_limit != 0u);
  }
  let plane = workgroup_count / z + select(0u, 1u, workgroup_count % z != 0u);
  let y = plane / limit + select(0u, 1u, plane % limit != 0u);
  let x = plane / y + select(0u, 1u, plane % y != 0u);
  return vec3u(x, y, z);
}
