// bench_samples: f32 samples of histograms in [0, 1), multiples of 2^-24 (benchmarking/ladder/histogram_ladder.h).
struct SampleParams {
  item_count: u32,
  seed: u32,
  kind: u32,
  sorted_shift: u32,  // right
  sorted_grow: u32,   // left
  grid_width: u32,
  grid_height: u32,
}

const CONSTANT = 1u;
const SORTED = 2u;
const SKEWED = 3u;

@group(0) @binding(0) var<uniform> params: SampleParams;
@group(0) @binding(1) var<storage, read_write> output: array<f32>;

fn run(workgroup: Workgroup, thread: Thread) {
  let i = tile_index(workgroup.id, params.grid_width, params.grid_height) * WORKGROUP_SIZE + thread.index;
  if (i >= params.item_count) {
    return;
  }
  var units = hash(i) >> 8u;
  if (params.kind == CONSTANT) {
    units = 0x500000u;
  }
  if (params.kind == SORTED) {
    units = (i >> params.sorted_shift) << params.sorted_grow;
  }
  if (params.kind == SKEWED) {
    units = units >> (hash(i) & 15u);
  }
  output[i] = f32(units) * 0x1p-24f;
}
