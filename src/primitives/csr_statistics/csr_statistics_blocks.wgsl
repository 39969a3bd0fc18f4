// csr_statistics_blocks: the blocks of each block row. A thread an entry; the first entry of a block counts it. Counts
// go through workgroup memory, as far as block rows are near the workgroup's first.
//
// Prelude gives  WORKGROUP_SIZE
// Parts give     params (csr_statistics_params), start_at (generated), bound_starts, find_start (sparse_search),
//                begins_block (sparse_blocks), tile_index (grid)
@group(0) @binding(1) var<storage, read_write> statistics: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read_write> block_counters: array<atomic<u32>>;
@group(0) @binding(3) var<storage, read> columns: array<u32>;

var<workgroup> near_counts: array<atomic<u32>, WORKGROUP_SIZE>;
var<workgroup> descents: atomic<u32>;

fn column_at(entry: u32) -> u32 { return columns[params.columns_first + entry]; }
fn block_size() -> u32 { return params.block_size; }

fn run(workgroup: Workgroup, thread: Thread) {
  let first = tile_index(workgroup.id, params.grid_width, params.grid_height) * WORKGROUP_SIZE;
  bound_starts(first, first + WORKGROUP_SIZE - 1u, params.row_count, thread);
  let near = shared_bounds[0] / params.block_size;
  let entry = first + thread.index;
  if (entry < params.entry_count) {
    let row = find_start(entry);
    if (begins_block(entry, row)) {
      let distance = row / params.block_size - near;
      if (distance < WORKGROUP_SIZE) {
        atomicAdd(&near_counts[distance], 1u);
      } else {
        atomicAdd(&block_counters[params.counter_first + near + distance], 1u);
      }
    }
    if (params.counts_descents != 0u && entry > start_at(row) && column_at(entry) < column_at(entry - 1u)) {
      atomicAdd(&descents, 1u);
    }
  }
  workgroupBarrier();  // all entries of the workgroup are counted
  let count = atomicLoad(&near_counts[thread.index]);
  if (count != 0u) { atomicAdd(&block_counters[params.counter_first + near + thread.index], count); }
  if (thread.index == 0u && atomicLoad(&descents) != 0u) {
    atomicAdd(&statistics[params.statistics_first + DESCENTS], atomicLoad(&descents));
  }
}
