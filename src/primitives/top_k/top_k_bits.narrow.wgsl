// Ordered keys of one word.
fn is_less(a: Key, b: Key) -> bool { return a < b; }
fn is_equal(a: Key, b: Key) -> bool { return a == b; }
fn digit_at(bits: Key, shift: u32, mask: u32) -> u32 { return (bits >> shift) & mask; }
fn place_digit(digit: u32, shift: u32) -> Key { return digit << shift; }
fn ones_below(shift: u32) -> Key { return (1u << shift) - 1u; }
fn key_of_words(low: u32, high: u32) -> Key { return low; }
fn words_of_key(bits: Key) -> vec2u { return vec2u(bits, 0u); }
