// csr_statistics_widths: the widest block row, and all blocks. Workgroups walk over the counters. Or strikes the size from
// the list, if it was left out.
//
// Prelude gives  WORKGROUP_SIZE
// Parts give     params (csr_statistics_params), tile_index (grid)
@group(0) @binding(1) var<storage, read_write> statistics: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read_write> block_counters: array<u32>;

var<workgroup> widest: atomic<u32>;
var<workgroup> total: atomic<u32>;

fn run(workgroup: Workgroup, thread: Thread) {
  let group = tile_index(workgroup.id, params.grid_width, params.grid_height);
  let is_left_out = block_counters[params.runs_first + params.block_number] > params.most_runs;
  if (is_left_out && group == 0u && thread.index == 0u) {
    atomicAnd(&statistics[params.statistics_first + BLOCK_SIZES], ~(1u << params.block_size));
  }
  if (!is_left_out && group < params.workgroup_count) {
    for (var i = group * WORKGROUP_SIZE + thread.index; i < params.counter_count;
         i += params.workgroup_count * WORKGROUP_SIZE) {
      let count = block_counters[params.counter_first + i];
      atomicMax(&widest, count);
      atomicAdd(&total, count);
    }
  }
  workgroupBarrier();  // all counters of the workgroup are seen
  if (thread.index == 0u && !is_left_out) {
    let at = params.statistics_first + params.block_number;
    atomicMax(&statistics[at + BLOCK_WIDTHS], atomicLoad(&widest));
    atomicAdd(&statistics[at + BLOCK_COUNTS], atomicLoad(&total));
  }
}
