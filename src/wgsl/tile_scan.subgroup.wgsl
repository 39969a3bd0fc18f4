// Scan of a tile's units; the operator need not commute. scan_rows() is generated. Barrier before reuse.
struct TileTotal {
  before: Accumulator,  // fold of the units of the subgroups before
  total: Accumulator,
  rows: Rows,
}

fn total_tile(rows: Rows, thread: Thread, workgroup: Workgroup) -> TileTotal {
  let scanned = scan_rows(rows, thread, workgroup);
  let shared_total = share_total(scanned.total, thread, workgroup);
  return TileTotal(shared_total.before, shared_total.total, scanned.before);
}

// For each unit the fold of those before it in its subgroup.
fn scan_tile(rows: Rows, total: TileTotal, thread: Thread, workgroup: Workgroup) -> Rows {
  return total.rows;
}
