// csr_statistics_clear: what the shape says, and zeros. A thread a word.
//
// Prelude gives  WORKGROUP_SIZE
// Parts give     params (csr_statistics_params), clear_counter (generated), tile_index (grid)
@group(0) @binding(1) var<storage, read_write> statistics: array<u32>;

fn run(workgroup: Workgroup, thread: Thread) {
  let word = tile_index(workgroup.id, params.grid_width, params.grid_height) * WORKGROUP_SIZE + thread.index;
  if (word < STATISTICS_WORDS) {
    var value = 0u;
    switch (word) {
      case 1u: { value = params.slice_rows; }
      case 2u: { value = params.window_rows; }
      case 5u: { value = params.block_sizes; }
      default: {}
    }
    statistics[params.statistics_first + word] = value;
  }
  clear_counter(word);
}
