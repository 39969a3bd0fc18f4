// reduce_segments: SEGMENT_THREADS neighbouring threads fold one segment; a workgroup takes as many segments as fit.
//
// Prelude gives  Accumulator, SEGMENT_THREADS (a power of two, at most WORKGROUP_SIZE)
// Parts give     tile_index (grid), segment_bounds (reduce_segment_bounds.*), segment_count (reduce_segment_count.*),
//                fold_segment (reduce_segment_fold.*), load_item (reduce_input.*), store_total (reduce_output.*)

struct SegmentParams {
  segment_count: u32,
  item_count: u32,
  row_length: u32,
  index_base: u32,
  segment_base: u32,   // segments before this range
  input_first: u32,
  second_first: u32,
  begins_first: u32,
  ends_first: u32,
  count_first: u32,
  output_first: u32,
  grid_width: u32,
  grid_height: u32,
}

@group(0) @binding(0) var<uniform> params: SegmentParams;

const SEGMENTS_PER_TILE = WORKGROUP_SIZE / SEGMENT_THREADS;

var<workgroup> segment_values: array<Accumulator, WORKGROUP_SIZE>;

fn run(workgroup: Workgroup, thread: Thread) {
  let tile = tile_index(workgroup.id, params.grid_width, params.grid_height);
  let segment = tile * SEGMENTS_PER_TILE + thread.index / SEGMENT_THREADS;
  let is_real = segment < segment_count();

  // Items of the segment as [x, y), counted from the first item of the input.
  var bounds = vec2u(0u);
  if (is_real) {
    bounds = segment_bounds(segment);
  }
  var range: Range;
  range.row_first = params.input_first + bounds.x;
  range.second_row_first = params.second_first + bounds.x;
  range.origin = range.row_first;
  range.begin = range.row_first;
  range.end = range.row_first + bounds.y - bounds.x;

  segment_values[thread.index] = fold_segment(range, thread.index % SEGMENT_THREADS);
  let lane = thread.index % SEGMENT_THREADS;
  let base = thread.index - lane;
  for (var stride = 1u; stride < SEGMENT_THREADS; stride *= 2u) {
    workgroupBarrier();  // the level below is complete
    let left = lane * 2u * stride;
    if (left + stride < SEGMENT_THREADS) {
      segment_values[base + left] = combine(segment_values[base + left], segment_values[base + left + stride]);
    }
  }
  if (lane == 0u && is_real) {
    store_total(params.output_first + segment, segment_values[thread.index]);
  }
}
