// Tile by tile, in item order.
fn add_tile(sum: Accumulator, first: u32, range: Range, thread: Thread, workgroup: Workgroup) -> Accumulator {
  let is_full = is_whole_tile(first, range);
  let unit = first / UNIT_ITEMS + first_unit(thread, workgroup);
  let step = unit_step(workgroup);
  let rows = tile_rows(load_tile(unit, step, is_full, range), unit, step, range);
  let total = total_tile(rows, thread, workgroup).total;
  workgroupBarrier();  // total_tile may be used again
  return combine(sum, total);
}

fn finish_chunk(sum: Accumulator, thread: Thread, workgroup: Workgroup) -> Accumulator { return sum; }
