// Where the items of a chunk with a digit go, from the counts of the chunks before and those of smaller digits.
@group(0) @binding(6) var<storage, read_write> totals: array<u32>;

fn first_position(digit: u32, chunk: u32, thread: Thread, workgroup: Workgroup) -> u32 {
  var all = 0u;  // of the whole input
  var before = 0u;
  if (digit < DIGITS) {
    all = totals[digit];
    before = partials[partial_at(digit, chunk)];
  }
  return before + threads_exclusive(vec2u(all, 0u), thread, workgroup).x;
}
