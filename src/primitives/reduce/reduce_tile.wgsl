// reduce_tile: each workgroup folds one chunk of a row of the input to one value.
//
// Prelude gives  Accumulator, CHUNK_ALIGNMENT
// Parts give     tile_index (grid), fold_range (reduce_fold.*), workgroup_reduce (workgroup_reduce.*),
//                row_length, row_count (reduce_extent.*), start_chunk, finish_chunk (reduce_finish.*)
//
// A flat reduction is one row. Positions count items from the beginning of the bound range of the input.

struct ReduceParams {
  row_length: u32,
  row_count: u32,
  chunk_items: u32,
  chunks_per_row: u32,
  index_base: u32,    // index of the row's first item in this range: not 0 in later windows of a large input
  row_base: u32,      // rows before this range
  input_first: u32,
  second_first: u32,
  count_first: u32,
  output_first: u32,
  grid_width: u32,
  grid_height: u32,
}

@group(0) @binding(0) var<uniform> params: ReduceParams;

fn chunk_range(chunk: u32) -> Range {
  let row = chunk / params.chunks_per_row;
  var range: Range;
  range.row_first = params.input_first + row * params.row_length;
  range.second_row_first = params.second_first + row * params.row_length;
  // Chunks begin where a vector load may begin.
  range.origin = range.row_first / CHUNK_ALIGNMENT * CHUNK_ALIGNMENT + (chunk % params.chunks_per_row) * params.chunk_items;
  range.begin = max(range.origin, range.row_first);
  range.end = select(0u, min(range.origin + params.chunk_items, range.row_first + row_length()), row < row_count());
  return range;
}

fn run(workgroup: Workgroup, thread: Thread) {
  let chunk = tile_index(workgroup.id, params.grid_width, params.grid_height);
  let tag = start_chunk(thread);
  let total = workgroup_reduce(fold_range(chunk_range(chunk), thread), thread, workgroup);
  finish_chunk(chunk, total, tag, thread, workgroup);
}
