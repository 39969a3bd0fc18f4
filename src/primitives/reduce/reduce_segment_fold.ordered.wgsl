// Each thread takes a run of neighbouring items, so that the operator need not commute.
fn fold_segment(range: Range, lane: u32) -> Accumulator {
  let length = range.end - range.begin;
  let share = length / SEGMENT_THREADS + select(0u, 1u, length % SEGMENT_THREADS != 0u);
  let first = range.begin + min(lane * share, length);
  var total = identity();
  for (var item = first; item < min(first + share, range.end); item++) {
    total = combine(total, load_item(item, range));
  }
  return total;
}
