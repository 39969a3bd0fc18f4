// bench_fill: the shared input generator. Item i is a hash of i and the seed: all 32 bits of it, or for f32 its upper
// 24 bits as a number in [0, 1).
struct FillParams {
  item_count: u32,
  index_base: u32,   // index of this range's first item
  seed: u32,
  is_float: u32,
  grid_width: u32,
  grid_height: u32,
}

@group(0) @binding(0) var<uniform> params: FillParams;
@group(0) @binding(1) var<storage, read_write> output: array<u32>;

fn run(workgroup: Workgroup, thread: Thread) {
  let index = tile_index(workgroup.id, params.grid_width, params.grid_height) * WORKGROUP_SIZE + thread.index;
  if (index >= params.item_count) {
    return;
  }
  var h = (params.index_base + index) * 2654435761u + params.seed;
  h = (h ^ (h >> 15u)) * 2246822519u;
  h = (h ^ (h >> 13u)) * 3266489917u;
  h = h ^ (h >> 16u);
  if (params.is_float != 0u) {
    h = bitcast<u32>(f32(h >> 8u) * 0x1p-24f);
  }
  output[index] = h;
}
