// spmv_carries: adds to the first row that ends in each tile what the tiles before have of it. Rows of more than
// FEW_TILES tiles are queued, and all threads add up one after the other.
//
// Prelude gives  WORKGROUP_SIZE, TILE_ITEMS, VECTORS, FEW_TILES
// Parts give     row_of, alpha (generated), tile_index (grid)
@group(0) @binding(1) var<storage, read> row_offsets: array<u32>;
@group(0) @binding(4) var<storage, read_write> y: array<f32>;
@group(0) @binding(5) var<storage, read_write> tile_words: array<u32>;

struct LongRow {
  row: u32,
  first_tile: u32,
  last_tile: u32,
}

var<workgroup> long_rows: array<LongRow, WORKGROUP_SIZE>;
var<workgroup> long_row_count: atomic<u32>;
var<workgroup> queued: u32;
var<workgroup> thread_sums: array<f32, WORKGROUP_SIZE>;

fn tile_carry(tile: u32) -> f32 { return bitcast<f32>(tile_words[params.tiles_first + params.tile_count + 1u + tile]); }

fn add_to_y(row: u32, sum: f32) {
  let place = params.y_first + row_of(row) * VECTORS + params.vector;
  y[place] = fma(alpha(), sum, y[place]);
}

fn run(workgroup: Workgroup, thread: Thread) {
  let tile = tile_index(workgroup.id, params.grid_width, params.grid_height) * WORKGROUP_SIZE + thread.index;
  if (tile < params.tile_count) {
    let row = tile_words[params.tiles_first + tile];
    // The row ends in this tile, and entries of it are in others.
    if (row < tile_words[params.tiles_first + tile + 1u]) {
      let begin = row_offsets[params.offsets_first + row];
      let first_tile = (row + begin) / TILE_ITEMS;
      if (first_tile < tile) {
        if (tile - first_tile <= FEW_TILES) {
          var sum = 0.0;
          for (var t = first_tile; t < tile; t++) { sum += tile_carry(t); }
          add_to_y(row, sum);
        } else {
          // Rows are apart from each other: their order does not matter.
          long_rows[atomicAdd(&long_row_count, 1u)] = LongRow(row, first_tile, tile);
        }
      }
    }
  }
  workgroupBarrier();  // the queue is complete
  if (thread.index == 0u) { queued = atomicLoad(&long_row_count); }
  let count = workgroupUniformLoad(&queued);
  for (var i = 0u; i < count; i++) {
    let long = long_rows[i];
    var sum = 0.0;
    for (var t = long.first_tile + thread.index; t < long.last_tile; t += WORKGROUP_SIZE) { sum += tile_carry(t); }
    thread_sums[thread.index] = sum;
    for (var distance = WORKGROUP_SIZE / 2u; distance > 0u; distance /= 2u) {
      workgroupBarrier();  // the level above is complete
      if (thread.index < distance) {
        sum += thread_sums[thread.index + distance];
        thread_sums[thread.index] = sum;
      }
    }
    if (thread.index == 0u) { add_to_y(long.row, sum); }
    workgroupBarrier();  // the sums have been read
  }
}
