// conjugate_gradient_diagonal: a thread a row adds up the diagonal entries of its row and stores the inverse.
//
// Prelude gives  WORKGROUP_SIZE
// Parts give     load_value (generated), tile_index (grid)
struct CgDiagonalParams {
  row_count: u32,
  offsets_first: u32,
  columns_first: u32,
  values_first: u32,
  inverse_first: u32,
  bad_row_first: u32,
  grid_width: u32,
  grid_height: u32,
}

// Beyond these the inverse is infinite, or a subnormal that the device may take for 0.
const LEAST_DIAGONAL = 0x1p-126f;
const GREATEST_DIAGONAL = 0x1p+126f;
// The exponent of infinities and NaN. By bits, since WGSL lets a compiler assume that there are none.
const SPECIAL_BITS = 0x7f800000u;

@group(0) @binding(0) var<uniform> params: CgDiagonalParams;
@group(0) @binding(1) var<storage, read> row_offsets: array<u32>;
@group(0) @binding(2) var<storage, read> columns: array<u32>;
@group(0) @binding(4) var<storage, read_write> inverse_diagonal: array<f32>;
@group(0) @binding(5) var<storage, read_write> bad_row: array<atomic<u32>>;

fn run(workgroup: Workgroup, thread: Thread) {
  let row = tile_index(workgroup.id, params.grid_width, params.grid_height) * WORKGROUP_SIZE + thread.index;
  if (row >= params.row_count) { return; }
  var diagonal = 0.0;
  let end = row_offsets[params.offsets_first + row + 1u];
  for (var at = row_offsets[params.offsets_first + row]; at < end; at++) {
    if (columns[params.columns_first + at] == row) { diagonal += load_value(at); }
  }
  let is_special = (bitcast<u32>(diagonal) & SPECIAL_BITS) == SPECIAL_BITS;
  if (is_special || diagonal < LEAST_DIAGONAL || diagonal > GREATEST_DIAGONAL) {
    atomicMin(&bad_row[params.bad_row_first], row);
    diagonal = 1.0;
  }
  inverse_diagonal[params.inverse_first + row] = 1.0 / diagonal;
}
