// tile_chunks: each workgroup folds the totals of the chunks before its own, then scans its chunk tile by tile.
//
// Prelude gives  Accumulator, UNIT_ITEMS, TILE_ITEMS
// Parts give     tile_index (grid), row_range (tile_range.*), row_length, row_count (tile_extent.*), load_tile,
//                tile_rows (generated), total_tile, scan_tile (tile_scan.*), fold_chunks (tile_before.*), initial
//                (tile_initial.*), stage_ahead, store_tile (generated or of the primitive), store_total (tile_total.*),
//                start_sink

var<workgroup> shared_extent: vec2u;

fn run(workgroup: Workgroup, thread: Thread) {
  let chunk = tile_index(workgroup.id, params.grid_width, params.grid_height);
  // Through workgroup memory: what a count in a buffer decides must be uniform for the compiler, too.
  if (thread.index == 0u) { shared_extent = vec2u(row_length(), row_count()); }
  let extent = workgroupUniformLoad(&shared_extent);
  let row = chunk / params.chunks_per_row;
  if (row >= extent.y) { return; }
  let range = row_range(row, extent.x);
  let chunk_in_row = chunk % params.chunks_per_row;
  let first_tile = chunk_in_row * params.chunk_tiles;
  let tile_count = count_tiles(range);
  let used_chunks = max((tile_count + params.chunk_tiles - 1u) / params.chunk_tiles, 1u);
  if (chunk_in_row >= used_chunks) { return; }
  var before = combine(initial(), fold_chunks(chunk - chunk_in_row, chunk_in_row, thread, workgroup));
  start_sink(chunk - chunk_in_row, used_chunks, thread, workgroup);
  for (var tile = first_tile; tile < min(first_tile + params.chunk_tiles, tile_count); tile++) {
    let first = range.origin + tile * TILE_ITEMS;
    let is_full = is_whole_tile(first, range);
    let unit = first / UNIT_ITEMS + first_unit(thread, workgroup);
    let step = unit_step(workgroup);
    let units = load_tile(unit, step, is_full, range);
    let rows = tile_rows(units, unit, step, range);
    let total = total_tile(rows, thread, workgroup);
    let scanned = scan_tile(rows, total, thread, workgroup);
    stage_ahead(units, scanned, total.before, total.total, unit, range, thread, workgroup);
    store_tile(units, scanned, Prefix(before, total.before, total.total), unit, is_full, range, thread, workgroup);
    before = combine(before, total.total);
    workgroupBarrier();  // total_tile and store_tile may be used again
  }
  if (chunk_in_row == used_chunks - 1u && thread.index == 0u) {
    store_total(row, before, range);
  }
}
