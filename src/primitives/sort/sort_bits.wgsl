// Bits of an ordered key that count.
fn bits_below(bit: u32) -> u32 { return select((1u << (bit % 32u)) - 1u, 0xffffffffu, bit >= 32u); }

// Those of the word that begins with bit `first` of the ordered key.
fn bits_in_word(first: u32) -> u32 {
  return bits_below(max(params.end_bit, first) - first) & ~bits_below(max(params.begin_bit, first) - first);
}
