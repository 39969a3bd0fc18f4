struct SpmvParams {
  row_count: u32,     // rows of the format, or those of the rest
  column_count: u32,
  entry_count: u32,   // places in columns
  row_stride: u32,
  tile_count: u32,
  vector: u32,
  alpha: f32,
  beta: f32,
  offsets_first: u32,
  columns_first: u32,
  values_first: u32,
  order_first: u32,
  x_first: u32,
  y_first: u32,
  scalars_first: u32,
  tiles_first: u32,
  grid_width: u32,
  grid_height: u32,
}

@group(0) @binding(0) var<uniform> params: SpmvParams;
