// -0 equals +0 where the lowest index decides between equal items.
fn positive_zero(value: f32) -> f32 {
  let bits = bitcast<u32>(value);
  return bitcast<f32>(select(bits, 0u, bits == 0x80000000u));
}
