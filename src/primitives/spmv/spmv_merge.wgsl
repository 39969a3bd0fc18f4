// spmv_merge: one tile of the merge of row ends with entry numbers (Merrill and Garland 2016). The products of a tile go
// through workgroup memory; each thread walks ITEMS_PER_THREAD steps, and at a step either adds a product or ends a row.
// A row that began before the thread gets what earlier threads have of it; what is left at the end of the tile goes to
// spmv_carries.
//
// Prelude gives  WORKGROUP_SIZE, ITEMS_PER_THREAD, TILE_ITEMS, VECTORS
// Parts give     load_products, row_of, store_y (generated), scan_carries, thread_rank (spmv_carry.*), tile_index (grid)
@group(0) @binding(0) var<uniform> params: SpmvParams;
@group(0) @binding(1) var<storage, read> row_offsets: array<u32>;
@group(0) @binding(5) var<storage, read_write> tile_words: array<u32>;

// First the ends of the rows, counted from the tile's first entry, then the products.
var<workgroup> stage: array<u32, TILE_ITEMS>;

fn run(workgroup: Workgroup, thread: Thread) {
  let tile = tile_index(workgroup.id, params.grid_width, params.grid_height);
  if (tile >= params.tile_count) { return; }
  let tile_begin = tile * TILE_ITEMS;
  let tile_items = min(TILE_ITEMS, params.row_count + params.entry_count - tile_begin);
  let row_begin = tile_words[tile];
  let rows = min(tile_words[tile + 1u] - row_begin, tile_items);
  let entries = tile_items - rows;
  let entry_begin = tile_begin - row_begin;
  let rank = thread_rank(thread, workgroup);
  load_products(entry_begin, entries, rows, rank);
  for (var r = rank; r < rows; r += WORKGROUP_SIZE) {
    stage[r] = row_offsets[params.offsets_first + row_begin + r + 1u] - entry_begin;
  }
  workgroupBarrier();  // row ends and products are stored
  let diagonal = min(rank * ITEMS_PER_THREAD, tile_items);
  var row = diagonal - min(diagonal, entries);
  var high = min(diagonal, rows);
  while (row < high) {
    let middle = (row + high) / 2u;
    if (stage[middle] < diagonal - middle) {
      row = middle + 1u;
    } else {
      high = middle;
    }
  }
  var entry = diagonal - row;
  let first_row = row;
  let steps = min(ITEMS_PER_THREAD, tile_items - diagonal);
  var sum = 0.0;
  var first_sum = 0.0;
  for (var k = 0u; k < steps; k++) {
    if (row < rows && stage[min(row, TILE_ITEMS - 1u)] <= entry) {
      if (row == first_row) {
        first_sum = sum;
      } else {
        store_y(row_of(row_begin + row) * VECTORS + params.vector, sum);
      }
      sum = 0.0;
      row++;
    } else {
      sum += bitcast<f32>(stage[rows + entry]);
      entry++;
    }
  }
  let carry = scan_carries(sum, row != first_row, thread, workgroup);
  if (row != first_row) { store_y(row_of(row_begin + first_row) * VECTORS + params.vector, carry.before + first_sum); }
  if (rank == WORKGROUP_SIZE - 1u) { tile_words[params.tile_count + 1u + tile] = bitcast<u32>(carry.here); }
}
