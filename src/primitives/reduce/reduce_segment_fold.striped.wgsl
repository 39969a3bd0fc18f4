// Threads take every SEGMENT_THREADS-th item; the operator commutes.
fn fold_segment(range: Range, lane: u32) -> Accumulator {
  var total = identity();
  for (var item = range.begin + lane; item < range.end; item += SEGMENT_THREADS) {
    total = combine(total, load_item(item, range));
  }
  return total;
}
