// histogram_result: i64 sums of units of 2^-FRACTION_BITS as f32, rounded to the nearest, ties to even.
struct ResultParams {
  cell_count: u32,
  output_first: u32,
  grid_width: u32,
  grid_height: u32,
}

@group(0) @binding(0) var<uniform> params: ResultParams;
@group(0) @binding(1) var<storage, read_write> sums: array<vec2u>;
@group(0) @binding(5) var<storage, read_write> output: array<f32>;

fn f32_of(sum: vec2u) -> f32 {
  let is_negative = (sum.y >> 31u) == 1u;
  var high = select(sum.y, ~sum.y + select(0u, 1u, sum.x == 0u), is_negative);
  var low = select(sum.x, ~sum.x + 1u, is_negative);
  if ((high | low) == 0u) { return 0.0; }
  // Shifted so that bit 63 is set; then 24 bits, a bit for half a unit and the rest.
  var exponent = 63u;
  if (high == 0u) {
    high = low;
    low = 0u;
    exponent = 31u;
  }
  let zeros = countLeadingZeros(high);
  if (zeros != 0u) {
    high = (high << zeros) | (low >> (32u - zeros));
    low = low << zeros;
  }
  exponent -= zeros;
  let kept = high >> 8u;
  let rest = high & 0xffu;
  let is_above_half = rest > 0x80u || (rest == 0x80u && (low != 0u || (kept & 1u) == 1u));
  // A carry out of the mantissa goes into the exponent.
  let magnitude = ((exponent + 126u - FRACTION_BITS) << 23u) + kept + select(0u, 1u, is_above_half);
  return bitcast<f32>(magnitude | select(0u, 0x80000000u, is_negative));
}

fn run(workgroup: Workgroup, thread: Thread) {
  let cell = tile_index(workgroup.id, params.grid_width, params.grid_height) * WORKGROUP_SIZE + thread.index;
  if (cell < params.cell_count) {
    let result = f32_of(sums[cell]);
    output[params.output_first + cell] = initial_sum(params.output_first + cell) + result;
  }
}
