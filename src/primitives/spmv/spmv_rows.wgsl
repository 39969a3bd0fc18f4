// spmv_rows: LANES threads a row and vector walk the row's entries and add up their parts.
//
// Prelude gives  WORKGROUP_SIZE, LANES (a power of two), VECTORS
// Parts give     row_sum, row_of, store_y (generated), fold_lanes, thread_rank (spmv_lanes.*), tile_index (grid)

fn run(workgroup: Workgroup, thread: Thread) {
  let group = tile_index(workgroup.id, params.grid_width, params.grid_height);
  let first = group * (WORKGROUP_SIZE / LANES);
  if (first >= params.row_count * VECTORS) { return; }
  let rank = thread_rank(thread, workgroup);
  let item = first + rank / LANES;
  let place = item / VECTORS;
  let is_real = place < params.row_count;
  var sum = 0.0;
  if (is_real) { sum = row_sum(place, rank % LANES, item % VECTORS); }
  sum = fold_lanes(sum, rank, workgroup);
  if (is_real && rank % LANES == 0u) { store_y(row_of(place) * VECTORS + item % VECTORS, sum); }
}
