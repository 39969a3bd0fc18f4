// merge_sort_gather of values of 16 bits, two a word. The first one is the lower half of a word. Bits behind the last
// value are kept.
//
// Prelude gives  WORKGROUP_SIZE
// Parts give     range_counts, load_value (generated), merge_params, tile_index (grid)
@group(0) @binding(1) var<storage, read> indices: array<u32>;
@group(0) @binding(3) var<storage, read_write> values_out: array<u32>;

fn run(workgroup: Workgroup, thread: Thread) {
  let item = 2u * (tile_index(workgroup.id, params.grid_width, params.grid_height) * WORKGROUP_SIZE + thread.index);
  let count = range_counts().x;
  if (item < count) {
    let at = (params.output_values_first + item) / 2u;
    let low = load_value(indices[params.left_keys_first + item]);
    if (item + 1u < count) {
      values_out[at] = low | (load_value(indices[params.left_keys_first + item + 1u]) << 16u);
    } else {
      values_out[at] = (values_out[at] & 0xffff0000u) | low;
    }
  }
}
