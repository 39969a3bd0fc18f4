// csr_statistics_blocks: the blocks of each block row. A thread takes ROUNDS entries; the first entry of a block counts it.
// Counts go through workgroup memory, as far as block rows are near the workgroup's first.
//
// Prelude gives  WORKGROUP_SIZE, ROUNDS, NEAR_ROWS
// Parts give     params (csr_statistics_params), start_at (generated), bound_starts, find_start (sparse_search),
//                begins_block (sparse_blocks), tile_index (grid)
@group(0) @binding(2) var<storage, read_write> block_counters: array<atomic<u32>>;
@group(0) @binding(3) var<storage, read> columns: array<u32>;

var<workgroup> near_counts: array<atomic<u32>, NEAR_ROWS>;
var<workgroup> shared_runs: u32;

fn column_at(entry: u32) -> u32 { return columns[params.columns_first + entry]; }
fn block_size() -> u32 { return params.block_size; }

fn run(workgroup: Workgroup, thread: Thread) {
  if (thread.index == 0u) { shared_runs = atomicLoad(&block_counters[params.runs_first + params.block_number]); }
  if (workgroupUniformLoad(&shared_runs) > params.most_runs) { return; }
  let first = tile_index(workgroup.id, params.grid_width, params.grid_height) * (WORKGROUP_SIZE * ROUNDS);
  bound_starts(first, first + WORKGROUP_SIZE * ROUNDS - 1u, params.row_count, thread);
  let near = shared_bounds[0] / params.block_size;
  for (var round = 0u; round < ROUNDS; round++) {
    let entry = first + round * WORKGROUP_SIZE + thread.index;
    if (entry < params.entry_count) {
      let row = find_start(entry);
      if (begins_block(entry, row)) {
        let distance = row / params.block_size - near;
        if (distance < NEAR_ROWS) {
          atomicAdd(&near_counts[distance], 1u);
        } else {
          atomicAdd(&block_counters[params.counter_first + near + distance], 1u);
        }
      }
    }
  }
  workgroupBarrier();  // all entries of the workgroup are counted
  for (var i = thread.index; i < NEAR_ROWS; i += WORKGROUP_SIZE) {
    let count = atomicLoad(&near_counts[i]);
    if (count != 0u) { atomicAdd(&block_counters[params.counter_first + near + i], count); }
  }
}
