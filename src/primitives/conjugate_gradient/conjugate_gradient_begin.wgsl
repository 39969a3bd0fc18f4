// conjugate_gradient_begin: one workgroup makes the state of a new solve from the sums of conjugate_gradient_start.
//
// Prelude gives  WORKGROUP_SIZE, Accumulator (vec4f)
// Parts give     conjugate_gradient_params, workgroup_reduce
@group(0) @binding(2) var<storage, read_write> partials_in: array<vec4f>;

fn run(workgroup: Workgroup, thread: Thread) {
  var sums = vec4f();
  for (var i = thread.index; i < params.partial_count; i += WORKGROUP_SIZE) { sums += partials_in[i]; }
  sums = workgroup_reduce(sums, thread, workgroup);
  if (thread.index != 0u) { return; }
  let rho = sums.x;
  let residual_norm = sqrt(sums.y);
  let right_side_norm = sqrt(sums.z);
  let limit = params.tolerance * right_side_norm;
  var status = STATUS_RUNNING;
  if (!is_finite_number(rho) || !is_finite_number(sums.y) || !is_finite_number(sums.z)) {
    status = STATUS_NOT_FINITE;
  } else if (residual_norm <= limit) {
    status = STATUS_CONVERGED;
  } else if (rho < 0.0) {
    status = STATUS_NOT_POSITIVE_DEFINITE;
  } else if (rho == 0.0) {
    status = STATUS_STALLED;
  }
  put_word(STATE_STATUS, status);
  put_word(STATE_ITERATION, 0u);
  put_number(STATE_RESIDUAL_NORM, residual_norm);
  put_number(STATE_LIMIT, limit);
  put_number(STATE_RIGHT_SIDE_NORM, right_side_norm);
  put_number(STATE_RHO, rho);
  put_number(STATE_CURVATURE, 0.0);
  put_number(STATE_STEP, 0.0);
  put_word(STATE_OLD_STATUS, status);
  put_number(STATE_OLD_RHO, rho);
  put_word(STATE_STEP_STATUS, status);
  put_number(STATE_FIRST_RHO, rho);
}
