// Each thread folds every WORKGROUP_SIZE-th unit (UNIT_ITEMS neighbouring items) of the range: coalesced, for operators
// that commute. fold_full_tile() and fold_guarded() are generated: UNITS_PER_THREAD loads without a branch between
// them, then a tree.
fn fold_range(range: Range, thread: Thread) -> Accumulator {
  var total = identity();
  for (var tile = range.origin; tile < range.end; tile += TILE_ITEMS) {
    if (tile >= range.begin && tile + TILE_ITEMS <= range.end) {
      total = combine(total, fold_full_tile(tile / UNIT_ITEMS + thread.index, range));
    } else {
      // The first or last tile of a row: item by item.
      let tile_end = min(tile + TILE_ITEMS, range.end);
      for (var item = tile; item < tile_end; item += GUARDED_ITEMS) {
        total = combine(total, fold_guarded(item + thread.index, range));
      }
    }
  }
  return total;
}

fn keep_if(value: Accumulator, is_kept: bool) -> Accumulator {
  if (is_kept) { return value; }
  return identity();
}
