// Each thread folds its own units of every tile; the threads meet at the end.
fn add_tile(sum: Accumulator, first: u32, range: Range, thread: Thread, workgroup: Workgroup) -> Accumulator {
  let is_full = is_whole_tile(first, range);
  let unit = first / UNIT_ITEMS + first_unit(thread, workgroup);
  return combine(sum, fold_rows(tile_rows(load_tile(unit, unit_step(workgroup), is_full, range))));
}

fn finish_chunk(sum: Accumulator, thread: Thread, workgroup: Workgroup) -> Accumulator {
  return total_tile(first_row(sum), thread, workgroup).total;
}
