// Inverse of the planner's fold of a workgroup count into up to three dimensions (src/plan/grid.h). Surplus
// workgroups get a number at or past the count and must store nothing.
fn tile_index(workgroup: vec3u, grid_width: u32, grid_height: u32) -> u32 {
  return (workgroup.z * grid_height + workgroup.y) * grid_width + workgroup.x;
}
