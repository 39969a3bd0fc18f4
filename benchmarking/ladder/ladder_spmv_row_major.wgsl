// ladder_spmv_row_major: a thread a row of an ELLPACK matrix whose rows lie one after the other, so that neighbouring
// threads read `width` words apart.
struct SpmvLadderParams {
  row_count: u32,
  width: u32,
  grid_width: u32,
  grid_height: u32,
}

@group(0) @binding(0) var<uniform> params: SpmvLadderParams;
@group(0) @binding(1) var<storage, read> columns: array<u32>;
@group(0) @binding(2) var<storage, read> values: array<f32>;
@group(0) @binding(3) var<storage, read> x: array<f32>;
@group(0) @binding(4) var<storage, read_write> y: array<f32>;

fn run(workgroup: Workgroup, thread: Thread) {
  let row = tile_index(workgroup.id, params.grid_width, params.grid_height) * WORKGROUP_SIZE + thread.index;
  if (row >= params.row_count) { return; }
  var sum = 0.0;
  for (var slot = 0u; slot < params.width; slot++) {
    let at = row * params.width + slot;
    let column = columns[at];
    if (column != 0xffffffffu) { sum += values[at] * x[column]; }
  }
  y[row] = sum;
}
