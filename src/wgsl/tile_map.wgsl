// tile_map: each workgroup takes one tile and stores what it makes of it. Nothing is scanned.
fn run(workgroup: Workgroup, thread: Thread) {
  let tile = tile_index(workgroup.id, params.grid_width, params.grid_height);
  let range = row_range(0u, row_length());
  if (tile >= count_tiles(range)) { return; }
  let first = range.origin + tile * TILE_ITEMS;
  let is_full = is_whole_tile(first, range);
  let unit = first / UNIT_ITEMS + first_unit(thread, workgroup);
  let step = unit_step(workgroup);
  let units = load_tile(unit, step, is_full, range);
  let none = Prefix(identity(), identity(), identity());
  store_tile(units, tile_rows(units, unit, step, range), none, unit, is_full, range, thread, workgroup);
}
