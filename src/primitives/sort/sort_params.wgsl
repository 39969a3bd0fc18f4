// Params of the kernels that work on one digit, and what follows from them. Positions count items from the first one.
struct SortParams {
  item_count: u32,    // or the most that the device may say
  begin_bit: u32,
  end_bit: u32,
  pass_number: u32,
  pass_count: u32,
  record_first: u32,  // first record of this pass's tiles
  chunk_count: u32,   // two passes a digit: workgroups, each with a run of tiles
  hidden_tiles: u32,  // tests and the self-test: see is_hidden
  make_values: u32,   // the values are the items' positions
  write_keys: u32,
  keys_first: u32,
  values_first: u32,
  output_keys_first: u32,
  output_values_first: u32,
  count_first: u32,
  grid_width: u32,
  grid_height: u32,
}

@group(0) @binding(0) var<uniform> params: SortParams;

fn count_tiles(item_count: u32) -> u32 { return item_count / TILE_ITEMS + u32(item_count % TILE_ITEMS != 0u); }
