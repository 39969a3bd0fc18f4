// Scan of a tile's units for operators that commute: the total is known before the scan, so that others wait less.
// scan_rows() and fold_rows() are generated. Barrier before reuse.
struct TileTotal {
  before: Accumulator,  // fold of the units of the subgroups before
  total: Accumulator,
}

fn total_tile(rows: Rows, thread: Thread, workgroup: Workgroup) -> TileTotal {
  let shared_total = share_total(subgroup_fold(fold_rows(rows), thread, workgroup), thread, workgroup);
  return TileTotal(shared_total.before, shared_total.total);
}

// For each unit the fold of those before it in its subgroup.
fn scan_tile(rows: Rows, total: TileTotal, thread: Thread, workgroup: Workgroup) -> Rows {
  return scan_rows(rows, thread, workgroup).before;
}
