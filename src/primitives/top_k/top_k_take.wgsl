// top_k_take: the first items of a sort are the result.
//
// Prelude gives  WORKGROUP_SIZE, Key
// Parts give     item_count, wanted_count, take_item, store_count, store_threshold (generated), ordered_bits
//                (generated), tile_index (grid), names of words (top_k_search)
struct TakeParams {
  item_count: u32,
  wanted_count: u32,
  count_first: u32,
  wanted_first: u32,
  count_out_first: u32,
  threshold_first: u32,
  top_keys_first: u32,
  indices_first: u32,
  grid_width: u32,
  grid_height: u32,
}

@group(0) @binding(0) var<uniform> params: TakeParams;
@group(0) @binding(1) var<storage, read_write> search: array<u32>;

fn run(workgroup: Workgroup, thread: Thread) {
  let item = tile_index(workgroup.id, params.grid_width, params.grid_height) * WORKGROUP_SIZE + thread.index;
  let count = min(wanted_count(), item_count());
  if (item == 0u) {
    search[RESULT_COUNT] = count;
    store_count(count);
  }
  if (item < count) { take_item(item, item + 1u == count); }
}
