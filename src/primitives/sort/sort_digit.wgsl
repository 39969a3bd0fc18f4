// Where the digits of the ordered bits are.
//
// Prelude gives  DIGIT_BITS, KEY_BITS
struct Digit {
  shift: u32,
  mask: u32,  // 0 behind the last bit: such a pass only moves
}

fn digit_of_number(pass_number: u32) -> Digit {
  let shift = params.begin_bit + pass_number * DIGIT_BITS;
  let bits = min(max(params.end_bit, shift) - shift, DIGIT_BITS);
  return Digit(min(shift, KEY_BITS - 1u), (1u << bits) - 1u);
}
