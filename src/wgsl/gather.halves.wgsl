// Items of 16 bits follow by index, two of them a thread. The first one is the lower half of a word. Bits behind the last
// one are kept.
//
// Prelude gives  WORKGROUP_SIZE
// Parts give     item_count (generated), params and arrays (gather_params), tile_index (grid)

// The item of an index, or the one that is there where there is none.
fn half_of(item: u32, kept: u32) -> u32 {
  let index = indices[params.indices_first + item];
  if (index >= params.source_count) { return kept; }
  let position = params.values_first + index;
  return (values_in[position / 2u] >> (position % 2u * 16u)) & 0xffffu;
}

fn run(workgroup: Workgroup, thread: Thread) {
  let item = 2u * (tile_index(workgroup.id, params.grid_width, params.grid_height) * WORKGROUP_SIZE + thread.index);
  let count = item_count();
  if (item >= count) { return; }
  let at = (params.output_values_first + item) / 2u;
  let old = values_out[at];
  var upper = old >> 16u;
  if (item + 1u < count) { upper = half_of(item + 1u, upper); }
  values_out[at] = half_of(item, old & 0xffffu) | (upper << 16u);
}
