// spmv_splits: cuts the merge of row ends with entry numbers into tiles of TILE_ITEMS: for each tile the row at which it
// begins. What is before a tile is that many rows' ends, and entries.
//
// Prelude gives  WORKGROUP_SIZE, TILE_ITEMS
// Parts give     tile_index (grid)
@group(0) @binding(0) var<uniform> params: SpmvParams;
@group(0) @binding(1) var<storage, read> row_offsets: array<u32>;
@group(0) @binding(5) var<storage, read_write> tile_words: array<u32>;

fn run(workgroup: Workgroup, thread: Thread) {
  let tile = tile_index(workgroup.id, params.grid_width, params.grid_height) * WORKGROUP_SIZE + thread.index;
  if (tile > params.tile_count) { return; }
  let diagonal = min(tile * TILE_ITEMS, params.row_count + params.entry_count);
  var low = diagonal - min(diagonal, params.entry_count);
  var high = min(diagonal, params.row_count);
  while (low < high) {
    let middle = (low + high) / 2u;
    if (row_offsets[params.offsets_first + middle + 1u] < diagonal - middle) {
      low = middle + 1u;
    } else {
      high = middle;
    }
  }
  tile_words[tile] = low;
}
