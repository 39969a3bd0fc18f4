// tile_empty: no items at all; stores the total.
fn run(workgroup: Workgroup, thread: Thread) {
  let row = tile_index(workgroup.id, params.grid_width, params.grid_height) * WORKGROUP_SIZE + thread.index;
  var range: Range;  // zeros: nothing in it
  if (row < row_count()) { store_total(row, initial(), range); }
}
