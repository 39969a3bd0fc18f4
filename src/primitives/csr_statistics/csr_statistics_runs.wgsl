// csr_statistics_runs: for each block size the entries in another block column than the one before them: a block has at
// most block_size of them, so they say how many blocks there are at least. And entries with a smaller column than the
// one before. Workgroups walk over the entries, across the ends of rows.
//
// Prelude gives  WORKGROUP_SIZE, RUN_WORDS
// Parts give     params (csr_statistics_params), count_runs (generated), tile_index (grid)
@group(0) @binding(1) var<storage, read_write> statistics: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read_write> block_counters: array<atomic<u32>>;
@group(0) @binding(3) var<storage, read> columns: array<u32>;

var<workgroup> sums: array<atomic<u32>, RUN_WORDS>;

fn run(workgroup: Workgroup, thread: Thread) {
  let group = tile_index(workgroup.id, params.grid_width, params.grid_height);
  if (group < params.workgroup_count) {
    count_runs(group * WORKGROUP_SIZE + thread.index, params.workgroup_count * WORKGROUP_SIZE);
  }
  workgroupBarrier();  // all entries of the workgroup are counted
  for (var i = thread.index; i < RUN_WORDS; i += WORKGROUP_SIZE) {
    let sum = atomicLoad(&sums[i]);
    if (i == 0u) {
      atomicAdd(&statistics[params.statistics_first + DESCENTS], sum);
    } else {
      atomicAdd(&block_counters[params.runs_first + i - 1u], sum);
    }
  }
}
