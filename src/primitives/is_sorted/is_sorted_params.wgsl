// Params and results of the kernels that look whether an array is sorted.
struct SortedParams {
  item_count: u32,  // of the array, or the most that the device may say
  index_base: u32,  // of this pass's first item
  pair_count: u32,  // neighbours that this pass looks at, at most
  items_first: u32,
  result_first: u32,
  leading_first: u32,
  count_first: u32,
  grid_width: u32,
  grid_height: u32,
}

@group(0) @binding(0) var<uniform> params: SortedParams;
@group(0) @binding(2) var<storage, read_write> sorted_result: array<atomic<u32>>;
@group(0) @binding(3) var<storage, read_write> leading_count: array<atomic<u32>>;
