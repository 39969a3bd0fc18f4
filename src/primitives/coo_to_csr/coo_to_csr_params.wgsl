struct CsrParams {
  entry_count: u32,  // or the most that the device may say
  row_count: u32,    // where rows are searched
  minor_bits: u32,   // 1 to 32: of the lesser part of a key
  offsets_first: u32,
  rows_first: u32,
  columns_first: u32,
  values_first: u32,
  count_first: u32,
  stored_first: u32,
  grid_width: u32,
  grid_height: u32,
}

@group(0) @binding(0) var<uniform> params: CsrParams;
