// top_k_widen: keys of 16 bits become ordered bits, a word each.
//
// Parts give  item_count (generated), ordered_bits (generated), tile_index (grid)
struct WidenParams {
  item_count: u32,
  keys_first: u32,  // in keys
  count_first: u32,
  grid_width: u32,
  grid_height: u32,
}

@group(0) @binding(0) var<uniform> params: WidenParams;
@group(0) @binding(1) var<storage, read> keys_in: array<u32>;
@group(0) @binding(2) var<storage, read_write> bits_out: array<u32>;

fn run(workgroup: Workgroup, thread: Thread) {
  let item = tile_index(workgroup.id, params.grid_width, params.grid_height) * WORKGROUP_SIZE + thread.index;
  if (item < item_count()) {
    let position = params.keys_first + item;
    bits_out[item] = ordered_bits((keys_in[position / 2u] >> (position % 2u * 16u)) & 0xffffu) & 0xffffu;
  }
}
