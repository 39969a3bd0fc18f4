// tile_single_pass: tiles are taken by ticket, so that whoever waits waits for workgroups that have started.
var<workgroup> shared_start: vec3u;

fn run(workgroup: Workgroup, thread: Thread) {
  if (thread.index == 0u) {
    shared_start = vec3u(take_ticket(), row_length());
  }
  let start = workgroupUniformLoad(&shared_start);
  let range = row_range(0u, start.z);
  let tile_count = count_tiles(range);
  if (start.y >= tile_count) {
    if (start.y == 0u) {
      if (thread.index == 0u) { store_total(0u, initial(), range); }
      sweep_records(start.x, tile_count, thread);
    }
    return;
  }
  let tile = tile_of_ticket(start.y, tile_count);
  let first = range.origin + tile * TILE_ITEMS;
  let is_full = is_whole_tile(first, range);
  let unit = first / UNIT_ITEMS + first_unit(thread, workgroup);
  let step = unit_step(workgroup);
  let units = load_tile(unit, step, is_full, range);
  let rows = tile_rows(units, unit, step, range);
  let total = total_tile(rows, thread, workgroup);
  finish_tile(units, rows, total, tile, tile_count, start.x, unit, is_full, range, thread, workgroup);
}
