// Params of the kernels that work on long segments.
struct SegmentsParams {
  begin_bit: u32,
  end_bit: u32,
  pass_number: u32,  // of the digits, or of what is joined
  chunk_count: u32,  // room for so many
  chunk_items: u32,
  workgroup_count: u32,
  make_values: u32,
  write_keys: u32,
  keys_first: u32,
  values_first: u32,
  output_keys_first: u32,
  output_values_first: u32,
  grid_width: u32,
  grid_height: u32,
}

@group(0) @binding(0) var<uniform> params: SegmentsParams;
