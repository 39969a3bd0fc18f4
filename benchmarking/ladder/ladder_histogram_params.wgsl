// What the kernels of the histogram ladder share: samples in [0, 1), BIN_COUNT even bins, a chunk a workgroup.
struct HistogramLadderParams {
  item_count: u32,
  chunk_items: u32,  // a multiple of WORKGROUP_SIZE
  grid_width: u32,
  grid_height: u32,
}

@group(0) @binding(0) var<uniform> params: HistogramLadderParams;
@group(0) @binding(1) var<storage, read> input: array<f32>;
@group(0) @binding(2) var<storage, read_write> output: array<atomic<u32>>;

// BIN_COUNT is a power of two: the product is exact.
fn bin_of(sample: f32) -> u32 { return min(u32(sample * f32(BIN_COUNT)), BIN_COUNT - 1u); }
