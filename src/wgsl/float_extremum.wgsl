// Keys for minima and maxima of f32: NaN takes the key that wins, and the key of the identity stands for an infinity.
fn min_key(bits: u32) -> u32 { return float_key(bits, 0u); }
fn max_key(bits: u32) -> u32 { return float_key(bits, 0xffffffffu); }

fn min_bits(key: u32) -> u32 {
  let number = select(float_bits(key), 0x7f800000u, key == 0xffffffffu);
  return select(number, 0x7fc00000u, key == 0u);
}

fn max_bits(key: u32) -> u32 {
  let number = select(float_bits(key), 0xff800000u, key == 0u);
  return select(number, 0x7fc00000u, key == 0xffffffffu);
}
