// Each thread folds a run of neighbouring items, so that the operator need not commute. A chunk is one tile.
fn fold_range(range: Range, thread: Thread) -> Accumulator {
  let first = range.origin + thread.index * UNITS_PER_THREAD;
  var total = identity();
  for (var item = max(first, range.begin); item < min(first + UNITS_PER_THREAD, range.end); item++) {
    total = combine(total, load_item(item, range));
  }
  return total;
}
