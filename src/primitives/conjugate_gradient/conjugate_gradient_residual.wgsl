// conjugate_gradient_residual: p'Ap from the sums of the pass before, then r -= alpha q, with sums of r'z and r'r for
// each workgroup. x waits for the next pass, which reads p anyway.
//
// Prelude gives  WORKGROUP_SIZE, TILE_ITEMS, Accumulator (vec2f)
// Parts give     residual_tile, residual_item (generated), conjugate_gradient_params, workgroup_reduce,
//                tile_index (grid)
@group(0) @binding(2) var<storage, read_write> partials_in: array<f32>;
@group(0) @binding(3) var<storage, read_write> partials_out: array<vec2f>;

var<workgroup> shared_step: vec2u;  // status, bits of alpha

fn run(workgroup: Workgroup, thread: Thread) {
  let group = tile_index(workgroup.id, params.grid_width, params.grid_height);
  if (group >= params.group_count) { return; }
  var curvature = 0.0;
  for (var i = thread.index; i < params.partial_count; i += WORKGROUP_SIZE) { curvature += partials_in[i]; }
  curvature = workgroup_reduce(vec2f(curvature, 0.0), thread, workgroup).x;
  if (thread.index == 0u) {
    var status = state_word(STATE_OLD_STATUS);
    let alpha = state_number(STATE_OLD_RHO) / curvature;
    if (status == STATUS_RUNNING) {
      if (!is_finite_number(curvature)) {
        status = STATUS_NOT_FINITE;
      } else if (curvature <= 0.0) {
        status = STATUS_NOT_POSITIVE_DEFINITE;
      } else if (!is_finite_number(alpha)) {
        status = STATUS_NOT_FINITE;
      }
      if (group == 0u) {
        put_number(STATE_CURVATURE, curvature);
        put_number(STATE_STEP, alpha);
      }
    }
    if (group == 0u) { put_word(STATE_STEP_STATUS, status); }
    shared_step = vec2u(status, bitcast<u32>(alpha));
  }
  let step = workgroupUniformLoad(&shared_step);  // its barriers part the two uses of workgroup_reduce, too
  if (step.x != STATUS_RUNNING) { return; }
  let alpha = bitcast<f32>(step.y);
  var sums = vec2f();
  for (var tile = group * TILE_ITEMS; tile < params.row_count; tile += params.stride_items) {
    if (tile + TILE_ITEMS <= params.row_count) {
      sums += residual_tile(tile + thread.index, alpha);
    } else {
      for (var i = tile + thread.index; i < params.row_count; i += WORKGROUP_SIZE) { sums += residual_item(i, alpha); }
    }
  }
  let total = workgroup_reduce(sums, thread, workgroup);
  if (thread.index == 0u) { partials_out[group] = total; }
}
