// Each sample counts as its item's weight, an f32 turned into units of 2^-FRACTION_BITS: i64, low word first.
@group(0) @binding(4) var<storage, read> weights: array<u32>;

fn amount_of(position: u32) -> Amount {
  return fixed_point(weights[params.weights_first + (position - params.input_first) / CHANNELS]);
}

fn fixed_point(bits: u32) -> vec2u {
  let exponent = (bits >> 23u) & 0xffu;
  let mantissa = (bits & 0x7fffffu) | select(0x800000u, 0u, exponent == 0u);
  if ((bits & 0x7fffffffu) > 0x7f800000u) { return vec2u(0u, 0u); }
  // In units: mantissa * 2^shift.
  let shift = i32(max(exponent, 1u)) + i32(FRACTION_BITS) - 150;
  var magnitude = vec2u(0u, 0u);
  if (shift >= 40) {
    magnitude = vec2u(0xffffffffu, 0x7fffffffu);
  } else if (shift >= 32) {
    magnitude = vec2u(0u, mantissa << u32(shift - 32));
  } else if (shift > 0) {
    magnitude = vec2u(mantissa << u32(shift), mantissa >> u32(32 - shift));
  } else if (shift == 0) {
    magnitude = vec2u(mantissa, 0u);
  } else if (shift > -25) {
    magnitude = vec2u((mantissa + (1u << u32(-shift - 1))) >> u32(-shift), 0u);
  }
  if ((bits >> 31u) == 0u) { return magnitude; }
  let low = ~magnitude.x + 1u;
  return vec2u(low, ~magnitude.y + select(0u, 1u, low == 0u));
}
