// sparse_row_lengths: the entries of each row, and where windows of rows begin. A thread a row, and one for the end.
//
// Prelude gives  WORKGROUP_SIZE
// Parts give     tile_index (grid)
struct RowLengthsParams {
  row_count: u32,
  window_rows: u32,
  offsets_first: u32,
  grid_width: u32,
  grid_height: u32,
}

@group(0) @binding(0) var<uniform> params: RowLengthsParams;
@group(0) @binding(1) var<storage, read> row_offsets: array<u32>;
@group(0) @binding(2) var<storage, read_write> lengths: array<u32>;
@group(0) @binding(3) var<storage, read_write> window_begins: array<u32>;

fn run(workgroup: Workgroup, thread: Thread) {
  let row = tile_index(workgroup.id, params.grid_width, params.grid_height) * WORKGROUP_SIZE + thread.index;
  if (row < params.row_count) {
    let at = params.offsets_first + row;
    lengths[row] = row_offsets[at + 1u] - row_offsets[at];
    if (row % params.window_rows == 0u) { window_begins[row / params.window_rows] = row; }
  } else if (row == params.row_count) {
    window_begins[(row - 1u) / params.window_rows + 1u] = row;
  }
}
