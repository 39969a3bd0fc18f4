// 64-bit integers as vec2u, low word first. Sums and products wrap modulo 2^64.
fn add64(a: vec2u, b: vec2u) -> vec2u {
  let low = a.x + b.x;
  return vec2u(low, a.y + b.y + select(0u, 1u, low < a.x));
}

fn mul64(a: vec2u, b: vec2u) -> vec2u {
  // 32 x 32 -> 64 bits from 16-bit halves; the high words enter modulo 2^32 only.
  let a_low = a.x & 0xffffu;
  let a_high = a.x >> 16u;
  let b_low = b.x & 0xffffu;
  let b_high = b.x >> 16u;
  let low = a_low * b_low;
  let middle = a_high * b_low + (low >> 16u);
  let middle_2 = a_low * b_high + (middle & 0xffffu);
  let high = a_high * b_high + (middle >> 16u) + (middle_2 >> 16u);
  return vec2u(a.x * b.x, high + a.x * b.y + a.y * b.x);
}

fn less64(a: vec2u, b: vec2u) -> bool {
  return a.y < b.y || (a.y == b.y && a.x < b.x);
}
