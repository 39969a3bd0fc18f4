struct ConversionParams {
  row_count: u32,
  entry_count: u32,
  place_count: u32,    // of the array that is written, or the room that it has
  row_stride: u32,
  width: u32,          // slots a row; of the other part, where this is the rest
  block_size: u32,
  slice_rows: u32,
  slice_count: u32,
  rest_row_room: u32,
  rows_per_group: u32, // a power of two up to WORKGROUP_SIZE
  offsets_first: u32,
  columns_first: u32,
  values_first: u32,
  starts_first: u32,   // of slice_offsets or rest_offsets
  order_first: u32,    // of row_order or rest_rows
  counts_first: u32,
  result_columns_first: u32,
  result_values_first: u32,
  grid_width: u32,
  grid_height: u32,
}

@group(0) @binding(0) var<uniform> params: ConversionParams;
