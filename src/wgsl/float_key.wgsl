// Order-preserving map between the bits of an f32 and u32. NaN gets a key of the caller's choice, outside the keys of
// numbers: 0x007fffff (-inf) to 0xff800000 (+inf).
fn float_key(bits: u32, nan_key: u32) -> u32 {
  let key = bits ^ ((0u - (bits >> 31u)) | 0x80000000u);
  return select(key, nan_key, (bits & 0x7fffffffu) > 0x7f800000u);
}

fn float_bits(key: u32) -> u32 {
  return key ^ select(0xffffffffu, 0x80000000u, (key >> 31u) == 1u);
}
