// Params of the kernels that merge. Positions count items from the first one of their array.
struct MergeParams {
  left_count: u32,   // items of the left array, or of all runs; or the most that the device may say
  right_count: u32,
  run_items: u32,    // of a sorted run
  pair_tiles: u32,   // tiles of a pair of ranges
  tile_count: u32,
  write_keys: u32,
  left_keys_first: u32,
  right_keys_first: u32,
  output_keys_first: u32,
  left_values_first: u32,
  right_values_first: u32,
  output_values_first: u32,
  left_count_first: u32,
  right_count_first: u32,
  grid_width: u32,
  grid_height: u32,
}

@group(0) @binding(0) var<uniform> params: MergeParams;

// Two sorted ranges and where they go.
struct Pair {
  left_begin: u32,
  left_count: u32,
  right_begin: u32,
  right_count: u32,
  output_begin: u32,
}
