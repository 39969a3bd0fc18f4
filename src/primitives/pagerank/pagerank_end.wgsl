// pagerank_end: one workgroup writes the state from the sums of the pass before.
//
// Prelude gives  WORKGROUP_SIZE, Accumulator (vec4f: change, dangling, total)
// Parts give     pagerank_params, workgroup_reduce
@group(0) @binding(2) var<storage, read_write> partials_in: array<vec4f>;

// The exponent of infinities and NaN. By bits, since WGSL lets a compiler assume that there are none.
const SPECIAL_BITS = 0x7f800000u;

fn run(workgroup: Workgroup, thread: Thread) {
  var sums = vec4f();
  for (var i = thread.index; i < params.partial_count; i += WORKGROUP_SIZE) { sums += partials_in[i]; }
  sums = workgroup_reduce(sums, thread, workgroup);
  if (thread.index != 0u) { return; }
  var change = sums.x;
  if (params.is_start != 0u) {
    put_word(STATE_ITERATION, 0u);
    change = 2.0;  // no two distributions are further apart
  }
  var status = STATUS_RUNNING;
  if ((bitcast<u32>(sums.z) & SPECIAL_BITS) == SPECIAL_BITS) {
    status = STATUS_NOT_FINITE;
  } else if (change <= params.tolerance || params.node_count == 0u) {
    status = STATUS_CONVERGED;
  }
  put_word(STATE_STATUS, status);
  put_number(STATE_CHANGE, change);
  put_number(STATE_DANGLING, sums.y);
  put_number(STATE_TOTAL, sums.z);
}
