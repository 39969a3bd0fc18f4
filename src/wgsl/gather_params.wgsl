// Params and arrays of the kernels that bring items to where indices say.
struct GatherParams {
  item_count: u32,    // or the most that the device may say
  source_count: u32,  // an index from here on: no item
  count_first: u32,
  indices_first: u32,
  values_first: u32,
  output_values_first: u32,
  grid_width: u32,
  grid_height: u32,
}

@group(0) @binding(0) var<uniform> params: GatherParams;
@group(0) @binding(1) var<storage, read> indices: array<u32>;
@group(0) @binding(2) var<storage, read> values_in: array<u32>;
@group(0) @binding(3) var<storage, read_write> values_out: array<u32>;
