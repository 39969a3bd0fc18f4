// Params of the kernel that sorts short segments.
struct ShortParams {
  begin_bit: u32,
  end_bit: u32,
  write_keys: u32,
  keys_first: u32,
  values_first: u32,
  output_keys_first: u32,
  output_values_first: u32,
  begins_first: u32,
  ends_first: u32,
  short_first: u32,  // in lists
  workgroup_count: u32,
  grid_width: u32,
  grid_height: u32,
}

@group(0) @binding(0) var<uniform> params: ShortParams;
