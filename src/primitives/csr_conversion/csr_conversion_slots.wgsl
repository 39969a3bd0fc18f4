// csr_conversion_slots: the first entry of a block stores the block's column in the slot that as many blocks of lesser
// columns leave it. A thread an entry.
//
// Prelude gives  WORKGROUP_SIZE
// Parts give     params (csr_conversion_params), column_at (generated), lower_entry (sparse_blocks), bound_starts,
//                find_start (sparse_search), tile_index (grid)
@group(0) @binding(2) var<storage, read> ranks: array<u32>;
@group(0) @binding(3) var<storage, read_write> result_columns: array<u32>;

fn run(workgroup: Workgroup, thread: Thread) {
  let first = tile_index(workgroup.id, params.grid_width, params.grid_height) * WORKGROUP_SIZE;
  bound_starts(first, first + WORKGROUP_SIZE - 1u, params.row_count, thread);
  let entry = first + thread.index;
  if (entry >= params.entry_count || ranks[entry + 1u] == ranks[entry]) { return; }
  let row = find_start(entry);
  let block_row = row / params.block_size;
  let block = column_at(entry) / params.block_size;
  let end = min((block_row + 1u) * params.block_size, params.row_count);
  var slot = 0u;
  for (var other = block_row * params.block_size; other < end; other++) {
    slot += ranks[lower_entry(other, block * params.block_size)] - ranks[start_at(other)];
  }
  if (slot >= params.width) { return; }
  result_columns[params.result_columns_first + slot * params.row_stride + block_row] = block;
}
