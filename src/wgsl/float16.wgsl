// The f16 nearest to an f32 given as bits, ties to even, overflow to infinity. WGSL leaves the conversion of values out
// of range open, hence by integers.
fn f16_bits(bits: u32) -> u32 {
  let sign = (bits >> 16u) & 0x8000u;
  let magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) { return sign | 0x7e00u; }
  // 65520 and up round to infinity.
  if (magnitude >= 0x477ff000u) { return sign | 0x7c00u; }
  if (magnitude >= 0x38800000u) {
    let rounded = magnitude + 0xfffu + ((magnitude >> 13u) & 1u);
    return sign | ((rounded >> 13u) - (112u << 10u));
  }
  // Subnormal f16: units of 2^-24.
  let exponent = magnitude >> 23u;
  if (exponent < 102u) { return sign; }
  let mantissa = (magnitude & 0x7fffffu) | 0x800000u;
  let shift = 126u - exponent;
  let kept = mantissa >> shift;
  let rest = mantissa & ((1u << shift) - 1u);
  let half = 1u << (shift - 1u);
  let up = rest > half || (rest == half && (kept & 1u) == 1u);
  return sign | (kept + select(0u, 1u, up));
}
