// sort_narrow: keys of a word each become keys of 16 bits, two a word. The first one is the lower half of a word. Bits
// behind the last key are kept.
@group(0) @binding(1) var<storage, read> keys_in: array<u32>;
@group(0) @binding(2) var<storage, read_write> keys_out: array<u32>;

struct NarrowParams {
  item_count: u32,
  output_keys_first: u32,  // in keys
  count_first: u32,
  grid_width: u32,
  grid_height: u32,
}

@group(0) @binding(0) var<uniform> params: NarrowParams;

fn run(workgroup: Workgroup, thread: Thread) {
  let item = 2u * (tile_index(workgroup.id, params.grid_width, params.grid_height) * WORKGROUP_SIZE + thread.index);
  let count = item_count();
  if (item < count) {
    let at = params.output_keys_first / 2u + item / 2u;
    let upper = select(keys_out[at] >> 16u, keys_in[min(item + 1u, count - 1u)], item + 1u < count);
    keys_out[at] = keys_in[item] | (upper << 16u);
  }
}
