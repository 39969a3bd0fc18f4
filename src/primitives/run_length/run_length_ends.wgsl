// run_length_ends: ends runs that go on past the tile in which they begin. `lengths` holds minus the first index of such a
// run; the next tile in which a run begins has left its place. Each thread has one tile.
fn run(workgroup: Workgroup, thread: Thread) {
  let tile = tile_index(workgroup.id, params.grid_width, params.grid_height) * WORKGROUP_SIZE + thread.index;
  let range = row_range(0u, row_length());
  if (tile < count_tiles(range)) {
    let tile_end = tile_ends[params.tile_base + tile];
    if (tile_end.x != NO_HEADS && tile_end.y != 0u) { lengths[params.lengths_first + tile_end.y - 1u] += tile_end.x; }
  }
  if (tile == 0u && params.is_last_window == 1u) {
    let runs = count[params.count_out_first];
    if (runs != 0u) { lengths[params.lengths_first + runs - 1u] += items_so_far(); }
  }
}
