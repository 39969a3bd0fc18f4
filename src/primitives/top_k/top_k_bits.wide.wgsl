// Ordered keys of two words, the low one first.
fn is_less(a: Key, b: Key) -> bool { return a.y < b.y || (a.y == b.y && a.x < b.x); }
fn is_equal(a: Key, b: Key) -> bool { return all(a == b); }
fn digit_at(bits: Key, shift: u32, mask: u32) -> u32 {
  let by = shift % 32u;
  let low = select(bits.x, bits.y, shift >= 32u);
  let high = select(bits.y, 0u, shift >= 32u || by == 0u);
  return ((low >> by) | (high << ((32u - by) % 32u))) & mask;
}
fn place_digit(digit: u32, shift: u32) -> Key {
  let by = shift % 32u;
  if (shift >= 32u) { return vec2u(0u, digit << by); }
  return vec2u(digit << by, select(digit >> ((32u - by) % 32u), 0u, by == 0u));
}
fn ones_below(shift: u32) -> Key {
  let ones = (1u << (shift % 32u)) - 1u;
  return select(vec2u(ones, 0u), vec2u(0xffffffffu, ones), shift >= 32u);
}
fn key_of_words(low: u32, high: u32) -> Key { return vec2u(low, high); }
fn words_of_key(bits: Key) -> vec2u { return bits; }
