// sort_spine: each workgroup turns the counts of one digit into those before each chunk, and stores their sum. Second of
// the three passes a digit that need nothing but barriers.
//
// Prelude gives  WORKGROUP_SIZE
// Parts give     threads_exclusive (sort_threads.workgroup), tile_index (grid)
struct SpineParams {
  chunk_count: u32,
  digit_count: u32,
  grid_width: u32,
  grid_height: u32,
}

@group(0) @binding(0) var<uniform> params: SpineParams;
@group(0) @binding(1) var<storage, read_write> partials: array<u32>;
@group(0) @binding(2) var<storage, read_write> totals: array<u32>;

fn run(workgroup: Workgroup, thread: Thread) {
  let digit = tile_index(workgroup.id, params.grid_width, params.grid_height);
  if (digit >= params.digit_count) { return; }
  let per_thread = (params.chunk_count + WORKGROUP_SIZE - 1u) / WORKGROUP_SIZE;
  let begin = min(thread.index * per_thread, params.chunk_count);
  let end = min(begin + per_thread, params.chunk_count);
  var sum = 0u;
  for (var chunk = begin; chunk < end; chunk++) { sum += partials[digit * params.chunk_count + chunk]; }
  var before = threads_exclusive(vec2u(sum, 0u), thread, workgroup).x;
  for (var chunk = begin; chunk < end; chunk++) {
    let at = digit * params.chunk_count + chunk;
    let count = partials[at];
    partials[at] = before;
    before += count;
  }
  if (thread.index == WORKGROUP_SIZE - 1u) { totals[digit] = before; }
}
