// Words of CsrStatistics: see include/upsweep/sparse_convert.h.
const LONGEST_ROW = 0u;
const BLOCK_SIZES = 5u;
const DESCENTS = 6u;
const LENGTH_BINS = 33u;
const ROWS_BY_LENGTH = 7u;
const ENTRIES_BY_LENGTH = 40u;
const BLOCK_WIDTHS = 73u;
const BLOCK_COUNTS = 78u;
const STATISTICS_WORDS = 83u;

struct StatisticsParams {
  row_count: u32,
  entry_count: u32,
  slice_rows: u32,
  window_rows: u32,
  block_sizes: u32,      // bits
  block_size: u32,       // of this pass
  block_number: u32,     // its place in the list of sizes
  counter_first: u32,    // its counters, one a block row
  counter_count: u32,    // of this pass; or of all, to clear
  runs_first: u32,       // counters of runs, one a block size
  most_runs: u32,        // of this pass: with more of them the size is left out
  run_bytes: f32,        // of this pass: those of blocks that there are at least for each run; 0: the size stays in
  width_bytes_2: f32,    // by block size: of all block rows, for each block of their width
  width_bytes_3: f32,
  width_bytes_4: f32,
  width_bytes_8: f32,
  width_bytes_16: f32,
  chunk_count: u32,      // of a workgroup, where blocks are counted
  workgroup_count: u32,
  offsets_first: u32,
  columns_first: u32,
  statistics_first: u32,
  grid_width: u32,
  grid_height: u32,
}

@group(0) @binding(0) var<uniform> params: StatisticsParams;
