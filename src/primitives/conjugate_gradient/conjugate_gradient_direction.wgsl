// conjugate_gradient_direction: ends an iteration. r'z and r'r from the sums of the pass before say how the solve
// stands; then x += alpha p and p = z + beta p.
//
// Prelude gives  WORKGROUP_SIZE, TILE_ITEMS, Accumulator (vec2f)
// Parts give     direction_tile, direction_item (generated), conjugate_gradient_params, workgroup_reduce,
//                tile_index (grid)
@group(0) @binding(2) var<storage, read_write> partials_in: array<vec2f>;

// Of r'z, from the first on: r has lost twelve digits, and x in f32 does not see what could follow.
const LEAST_RHO = 1e-24;

var<workgroup> shared_update: vec3u;  // whether x moves, bits of alpha and beta

fn run(workgroup: Workgroup, thread: Thread) {
  let group = tile_index(workgroup.id, params.grid_width, params.grid_height);
  if (group >= params.group_count) { return; }
  var sums = vec2f();
  for (var i = thread.index; i < params.partial_count; i += WORKGROUP_SIZE) { sums += partials_in[i]; }
  sums = workgroup_reduce(sums, thread, workgroup);
  if (thread.index == 0u) {
    let rho = sums.x;
    let residual_norm = sqrt(sums.y);
    let was_running = state_word(STATE_STEP_STATUS) == STATUS_RUNNING;
    var status = state_word(STATE_STEP_STATUS);
    if (was_running) {
      if (!is_finite_number(rho) || !is_finite_number(sums.y)) {
        status = STATUS_NOT_FINITE;
      } else if (residual_norm <= state_number(STATE_LIMIT)) {
        status = STATUS_CONVERGED;
      } else if (rho < 0.0) {
        status = STATUS_NOT_POSITIVE_DEFINITE;
      } else if (rho <= state_number(STATE_FIRST_RHO) * LEAST_RHO) {
        status = STATUS_STALLED;
      }
    }
    let moves = was_running && status != STATUS_NOT_FINITE;
    if (group == 0u) {
      put_word(STATE_STATUS, status);
      if (moves) {
        put_word(STATE_ITERATION, state_word(STATE_ITERATION) + 1u);
        put_number(STATE_RESIDUAL_NORM, residual_norm);
        put_number(STATE_RHO, rho);
      }
    }
    let beta = rho / state_number(STATE_OLD_RHO);
    shared_update = vec3u(select(0u, 1u, moves), state_word(STATE_STEP), bitcast<u32>(beta));
  }
  let update = workgroupUniformLoad(&shared_update);
  if (update.x == 0u) { return; }
  let alpha = bitcast<f32>(update.y);
  let beta = bitcast<f32>(update.z);
  for (var tile = group * TILE_ITEMS; tile < params.row_count; tile += params.stride_items) {
    if (tile + TILE_ITEMS <= params.row_count) {
      direction_tile(tile + thread.index, alpha, beta);
    } else {
      for (var i = tile + thread.index; i < params.row_count; i += WORKGROUP_SIZE) { direction_item(i, alpha, beta); }
    }
  }
}
