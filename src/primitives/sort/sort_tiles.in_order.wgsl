// Tiles are numbered as workgroups are. Right on every device, since look-back ends without help; fast where workgroups
// start in order.
fn take_tile(workgroup: Workgroup, thread: Thread) -> u32 {
  return tile_index(workgroup.id, params.grid_width, params.grid_height);
}
