// csr_statistics_rows: how long rows are, and what csr_statistics_runs takes for descents at their beginnings. Workgroups
// walk over the rows and add up what they have seen.
//
// Prelude gives  WORKGROUP_SIZE
// Parts give     params (csr_statistics_params), begins_lower (generated), tile_index (grid)
@group(0) @binding(1) var<storage, read_write> statistics: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read> row_offsets: array<u32>;

var<workgroup> bins: array<atomic<u32>, 2u * LENGTH_BINS>;
var<workgroup> longest: atomic<u32>;
var<workgroup> lower_begins: atomic<u32>;

// 0 for no entries, else 1 more than the bits that number them.
fn length_bin(length: u32) -> u32 { return select(33u - countLeadingZeros(length - 1u), 0u, length == 0u); }

fn run(workgroup: Workgroup, thread: Thread) {
  let group = tile_index(workgroup.id, params.grid_width, params.grid_height);
  if (group < params.workgroup_count) {
    for (var row = group * WORKGROUP_SIZE + thread.index; row < params.row_count;
         row += params.workgroup_count * WORKGROUP_SIZE) {
      let at = params.offsets_first + row;
      let begin = row_offsets[at];
      let length = row_offsets[at + 1u] - begin;
      if (length != 0u && begins_lower(begin)) { atomicAdd(&lower_begins, 1u); }
      let bin = min(length_bin(length), LENGTH_BINS - 1u);
      atomicAdd(&bins[bin], 1u);
      atomicAdd(&bins[LENGTH_BINS + bin], length);
      atomicMax(&longest, length);
    }
  }
  workgroupBarrier();  // all rows of the workgroup are counted
  for (var i = thread.index; i < 2u * LENGTH_BINS; i += WORKGROUP_SIZE) {
    let count = atomicLoad(&bins[i]);
    if (count != 0u) { atomicAdd(&statistics[params.statistics_first + ROWS_BY_LENGTH + i], count); }
  }
  if (thread.index == 0u) {
    atomicMax(&statistics[params.statistics_first + LONGEST_ROW], atomicLoad(&longest));
    // Modulo 2^32, in whatever order.
    let lower = atomicLoad(&lower_begins);
    if (lower != 0u) { atomicSub(&statistics[params.statistics_first + DESCENTS], lower); }
  }
}
