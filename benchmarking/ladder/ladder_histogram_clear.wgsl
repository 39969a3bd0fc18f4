// ladder_histogram_clear: the counts begin at zero.
struct HistogramClearParams {
  bin_count: u32,
  grid_width: u32,
  grid_height: u32,
}

@group(0) @binding(0) var<uniform> params: HistogramClearParams;
@group(0) @binding(2) var<storage, read_write> output: array<u32>;

fn run(workgroup: Workgroup, thread: Thread) {
  let bin = tile_index(workgroup.id, params.grid_width, params.grid_height) * WORKGROUP_SIZE + thread.index;
  if (bin < params.bin_count) {
    output[bin] = 0u;
  }
}
