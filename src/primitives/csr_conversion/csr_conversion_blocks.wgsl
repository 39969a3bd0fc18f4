// csr_conversion_blocks: the elements of blocks, and the columns of unused slots. A thread takes LINES lines of a
// slot, a line being a row of a block: it finds the line's entries and walks over them.
//
// Prelude gives  WORKGROUP_SIZE, LINES (2 where two elements share a word)
// Parts give     params (csr_conversion_params), column_at, value_at, store_elements (generated), lower_entry
//                (sparse_blocks), tile_index (grid)
@group(0) @binding(2) var<storage, read> ranks: array<u32>;
@group(0) @binding(3) var<storage, read_write> result_columns: array<u32>;

// Entries of a line that are not yet stored, and the block's first column.
struct Line {
  entry: u32,
  end: u32,
  column: u32,
}

fn find_line(line: u32, slot: u32) -> Line {
  let block_row = line / params.block_size;
  let at = params.result_columns_first + slot * params.row_stride + block_row;
  let first = min(block_row * params.block_size, params.row_count);
  let end = min(first + params.block_size, params.row_count);
  if (slot >= ranks[start_at(end)] - ranks[start_at(first)]) {
    // The block row has fewer blocks: its first line says so.
    if (line % params.block_size == 0u) { result_columns[at] = 0xffffffffu; }
    return Line(0u, 0u, 0u);
  }
  if (line >= params.row_count) { return Line(0u, 0u, 0u); }
  let column = result_columns[at] * params.block_size;
  return Line(lower_entry(line, column), start_at(line + 1u), column);
}

fn run(workgroup: Workgroup, thread: Thread) {
  let item = tile_index(workgroup.id, params.grid_width, params.grid_height) * WORKGROUP_SIZE + thread.index;
  let lines = params.row_stride * params.block_size;
  let slot = item / (lines / LINES);
  if (slot >= params.width) { return; }
  let first = item % (lines / LINES) * LINES;
  var left: array<Line, LINES>;
  for (var k = 0u; k < LINES; k++) { left[k] = find_line(first + k, slot); }
  for (var j = 0u; j < params.block_size; j++) {
    var sums: array<f32, LINES>;
    for (var k = 0u; k < LINES; k++) {
      var sum = 0.0;
      while (left[k].entry < left[k].end && column_at(left[k].entry) == left[k].column + j) {
        sum += value_at(left[k].entry);
        left[k].entry++;
      }
      sums[k] = sum;
    }
    store_elements((slot * params.block_size + j) * lines + first, sums);
  }
}
