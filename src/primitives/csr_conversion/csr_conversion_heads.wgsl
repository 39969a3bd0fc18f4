// csr_conversion_heads: is an entry the first of its block? A thread an entry; a 0 behind them all.
//
// Prelude gives  WORKGROUP_SIZE
// Parts give     params (csr_conversion_params), column_at (generated), begins_block (sparse_blocks), bound_starts,
//                find_start (sparse_search), tile_index (grid)
@group(0) @binding(2) var<storage, read_write> heads: array<u32>;

fn run(workgroup: Workgroup, thread: Thread) {
  let first = tile_index(workgroup.id, params.grid_width, params.grid_height) * WORKGROUP_SIZE;
  bound_starts(first, first + WORKGROUP_SIZE - 1u, params.row_count, thread);
  let entry = first + thread.index;
  if (entry > params.entry_count) { return; }
  var head = 0u;
  if (entry < params.entry_count && begins_block(entry, find_start(entry))) { head = 1u; }
  heads[entry] = head;
}
