// Params and state of conjugate gradients. Words of the state up to STATE_STEP are CgState of the header. In one
// dispatch no word is written that other workgroups read, so each pass writes words of its own.
struct CgParams {
  row_count: u32,
  group_count: u32,      // workgroups of passes over vectors
  stride_items: u32,     // items that these take at a time, all together
  partial_count: u32,    // sums that the pass before has left
  tolerance: f32,
  b_first: u32,
  x_first: u32,
  residual_first: u32,
  direction_first: u32,
  inverse_first: u32,
  state_first: u32,
  grid_width: u32,
  grid_height: u32,
}

// Written by conjugate_gradient_direction:
const STATE_STATUS = 0u;
const STATE_ITERATION = 1u;
const STATE_RESIDUAL_NORM = 2u;
const STATE_RHO = 5u;
// by conjugate_gradient_begin:
const STATE_LIMIT = 3u;
const STATE_RIGHT_SIDE_NORM = 4u;
const STATE_FIRST_RHO = 11u;
// by conjugate_gradient_residual:
const STATE_CURVATURE = 6u;
const STATE_STEP = 7u;
const STATE_STEP_STATUS = 10u;
// by conjugate_gradient_curvature, as copies for passes that must not read what conjugate_gradient_direction writes:
const STATE_OLD_STATUS = 8u;
const STATE_OLD_RHO = 9u;

const STATUS_RUNNING = 0u;
const STATUS_CONVERGED = 1u;
const STATUS_NOT_POSITIVE_DEFINITE = 2u;
const STATUS_STALLED = 3u;
const STATUS_NOT_FINITE = 4u;

@group(0) @binding(0) var<uniform> params: CgParams;
@group(0) @binding(1) var<storage, read_write> state: array<u32>;

fn state_word(word: u32) -> u32 { return state[params.state_first + word]; }
fn state_number(word: u32) -> f32 { return bitcast<f32>(state[params.state_first + word]); }
fn put_word(word: u32, value: u32) { state[params.state_first + word] = value; }
fn put_number(word: u32, value: f32) { state[params.state_first + word] = bitcast<u32>(value); }

// By its bits: WGSL lets a compiler assume that there are no infinities and no NaN.
fn is_finite_number(value: f32) -> bool { return (bitcast<u32>(value) & 0x7f800000u) != 0x7f800000u; }
