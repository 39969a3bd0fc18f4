// Where the items of a chunk with a digit go: sort_segment_spine has found it.
fn first_position(digit: u32, chunk: u32, thread: Thread, workgroup: Workgroup) -> u32 {
  var position = 0u;
  if (digit < DIGITS) { position = partials[partial_at(digit, chunk)]; }
  return position;
}
