// tile_single_pass_in_order: tiles are numbered as workgroups are, so that items are on their way before the run's number
// is known. Right on every device, since look-back ends without help; fast where workgroups start in order.
var<workgroup> shared_run: u32;

fn run(workgroup: Workgroup, thread: Thread) {
  let order = tile_index(workgroup.id, params.grid_width, params.grid_height);
  let range = row_range(0u, params.row_length);
  let tile_count = count_tiles(range);
  if (order >= tile_count) {
    if (thread.index == 0u) { _ = take_ticket(); }
    return;
  }
  let tile = tile_of_ticket(order, tile_count);
  let first = range.origin + tile * TILE_ITEMS;
  let is_full = is_whole_tile(first, range);
  let unit = first / UNIT_ITEMS + first_unit(thread, workgroup);
  let step = unit_step(workgroup);
  let units = load_tile(unit, step, is_full, range);
  if (thread.index == 0u) { shared_run = take_ticket().x; }
  let rows = tile_rows(units, unit, step, range);
  let total = total_tile(rows, thread, workgroup);
  let run_number = shared_run;  // total_tile() had a barrier
  finish_tile(units, rows, total, tile, tile_count, run_number, unit, is_full, range, thread, workgroup);
}
