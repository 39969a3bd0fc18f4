// top_k_gather: items of 16 bits follow by index, two of them a thread. The first one is the lower half of a word. Bits
// behind the last one are kept.
//
// Prelude gives  WORKGROUP_SIZE
// Parts give     result_count (generated), tile_index (grid)
struct GatherParams {
  result_count: u32,
  count_first: u32,
  indices_first: u32,
  values_first: u32,
  output_first: u32,
  grid_width: u32,
  grid_height: u32,
}

@group(0) @binding(0) var<uniform> params: GatherParams;
@group(0) @binding(1) var<storage, read> indices: array<u32>;
@group(0) @binding(2) var<storage, read> values_in: array<u32>;
@group(0) @binding(3) var<storage, read_write> values_out: array<u32>;

fn half_of(item: u32) -> u32 {
  let position = params.values_first + indices[params.indices_first + item];
  return (values_in[position / 2u] >> (position % 2u * 16u)) & 0xffffu;
}

fn run(workgroup: Workgroup, thread: Thread) {
  let item = 2u * (tile_index(workgroup.id, params.grid_width, params.grid_height) * WORKGROUP_SIZE + thread.index);
  let count = result_count();
  if (item < count) {
    let at = params.output_first / 2u + item / 2u;
    if (item + 1u < count) {
      values_out[at] = half_of(item) | (half_of(item + 1u) << 16u);
    } else {
      values_out[at] = half_of(item) | (values_out[at] & 0xffff0000u);
    }
  }
}
