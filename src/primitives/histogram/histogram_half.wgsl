// The f32 of the same value as an f16, both as bits. By integers: conversions may flush subnormals.
fn widen_half(half: u32) -> u32 {
  let magnitude = half & 0x7fffu;
  var bits = (magnitude << 13u) + (112u << 23u);
  if (magnitude < 0x400u) { bits = bitcast<u32>(f32(magnitude) * 5.9604644775390625e-8); }  // units of 2^-24
  if (magnitude >= 0x7c00u) { bits = (magnitude << 13u) | 0x7f800000u; }
  return bits | ((half & 0x8000u) << 16u);
}
