// conjugate_gradient_curvature: sums of p'q, q = A p, for each workgroup; and copies of what the last pass of the
// iteration will write anew.
//
// Prelude gives  WORKGROUP_SIZE, TILE_ITEMS, Accumulator (f32)
// Parts give     curvature_tile, curvature_item (generated), conjugate_gradient_params, workgroup_reduce,
//                tile_index (grid)
@group(0) @binding(3) var<storage, read_write> partials_out: array<f32>;

fn run(workgroup: Workgroup, thread: Thread) {
  let group = tile_index(workgroup.id, params.grid_width, params.grid_height);
  if (group >= params.group_count) { return; }
  var sum = 0.0;
  for (var tile = group * TILE_ITEMS; tile < params.row_count; tile += params.stride_items) {
    if (tile + TILE_ITEMS <= params.row_count) {
      sum += curvature_tile(tile + thread.index);
    } else {
      for (var i = tile + thread.index; i < params.row_count; i += WORKGROUP_SIZE) { sum += curvature_item(i); }
    }
  }
  let total = workgroup_reduce(sum, thread, workgroup);
  if (thread.index != 0u) { return; }
  partials_out[group] = total;
  if (group == 0u) {
    put_word(STATE_OLD_STATUS, state_word(STATE_STATUS));
    put_word(STATE_OLD_RHO, state_word(STATE_RHO));
  }
}
