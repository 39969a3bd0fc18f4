// csr_statistics_runs: for each block size the entries in another block column than the one before them: a block has at
// most block_size of them, so they say how many blocks there are at least. And entries with a smaller column than the
// one before. Workgroups walk over the entries, across the ends of rows.
//
// Prelude gives  WORKGROUP_SIZE, LOADS, RUN_WORDS
// Parts give     params (csr_statistics_params), count_entry (generated), tile_index (grid)
@group(0) @binding(1) var<storage, read_write> statistics: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read_write> block_counters: array<atomic<u32>>;
@group(0) @binding(3) var<storage, read> columns: array<u32>;

var<workgroup> sums: array<atomic<u32>, RUN_WORDS>;

fn run(workgroup: Workgroup, thread: Thread) {
  let group = tile_index(workgroup.id, params.grid_width, params.grid_height);
  if (group < params.workgroup_count) {
    var counts: array<u32, RUN_WORDS>;
    let step = params.workgroup_count * WORKGROUP_SIZE;
    for (var first = group * WORKGROUP_SIZE + thread.index; first < params.entry_count; first += LOADS * step) {
      var before: array<u32, LOADS>;
      var own: array<u32, LOADS>;
      for (var i = 0u; i < LOADS; i++) {
        let entry = min(first + i * step, params.entry_count - 1u);
        own[i] = columns[params.columns_first + entry];
        // What is past the end counts for nothing: its column is that before it.
        let is_real = first + i * step < params.entry_count && entry > 0u;
        before[i] = columns[params.columns_first + select(entry, entry - 1u, is_real)];
      }
      for (var i = 0u; i < LOADS; i++) { count_entry(&counts, before[i], own[i]); }
    }
    for (var i = 0u; i < RUN_WORDS; i++) {
      if (counts[i] != 0u) { atomicAdd(&sums[i], counts[i]); }
    }
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
