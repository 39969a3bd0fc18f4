// Each thread folds its own units of every tile; the threads meet at the end.
fn add_tile(sum: Accumulator, first: u32, range: Range, thread: Thread, workgroup: Workgroup) -> Accumulator {
  let is_full = is_whole_tile(first, range);
  let unit = first / UNIT_ITEMS + first_unit(thread, workgroup);
  let step = unit_step(workgroup);
  return combine(sum, fold_rows(tile_rows(load_tile(unit, step, is_full, range), unit, step, range)));
}

fn finish_chunk(sum: Accumulator, thread: Thread, workgroup: Workgroup) -> Accumulator {
  return fold_threads(sum, thread, workgroup);
}
