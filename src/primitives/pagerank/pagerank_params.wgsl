// Params and state of PageRank. Words of the state are PagerankState of the header.
struct PagerankParams {
  node_count: u32,
  group_count: u32,    // workgroups of passes over vectors
  stride_items: u32,   // items that these take at a time, all together
  partial_count: u32,  // sums that the pass before has left; 0: the state has them
  is_start: u32,
  damping: f32,
  teleport: f32,       // (1 - damping) / n
  share: f32,          // 1 / n
  tolerance: f32,
  inverse_first: u32,
  ranks_first: u32,
  scaled_first: u32,
  state_first: u32,
  grid_width: u32,
  grid_height: u32,
}

const STATE_STATUS = 0u;
const STATE_ITERATION = 1u;  // by the first workgroup of pagerank_step, which nobody else reads; others by pagerank_end
const STATE_CHANGE = 2u;
const STATE_DANGLING = 3u;
const STATE_TOTAL = 4u;

const STATUS_RUNNING = 0u;
const STATUS_CONVERGED = 1u;
const STATUS_NOT_FINITE = 2u;

@group(0) @binding(0) var<uniform> params: PagerankParams;
@group(0) @binding(1) var<storage, read_write> state: array<u32>;

fn state_number(word: u32) -> f32 { return bitcast<f32>(state[params.state_first + word]); }
fn put_word(word: u32, value: u32) { state[params.state_first + word] = value; }
fn put_number(word: u32, value: f32) { state[params.state_first + word] = bitcast<u32>(value); }
