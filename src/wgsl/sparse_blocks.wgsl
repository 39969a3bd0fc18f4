// Blocks of block_size x block_size in compressed rows whose columns ascend, and which entry is the first of its block.
//
// Parts give     column_at, block_size (generated), start_at (of row_offsets, generated)

// The first entry of the row whose column is at least `column`, or the end of the row.
fn lower_entry(row: u32, column: u32) -> u32 {
  var low = start_at(row);
  var high = start_at(row + 1u);
  while (low < high) {
    let middle = low + (high - low) / 2u;
    if (column_at(middle) < column) {
      low = middle + 1u;
    } else {
      high = middle;
    }
  }
  return low;
}

// First in the order of entries: no entry of the same block is in an earlier row, or before it in its own.
fn begins_block(entry: u32, row: u32) -> bool {
  let size = block_size();
  let block = column_at(entry) / size;
  if (entry > start_at(row) && column_at(entry - 1u) / size == block) { return false; }
  let first_row = row - row % size;
  for (var other = row; other > first_row; other--) {
    let at = lower_entry(other - 1u, block * size);
    if (at < start_at(other) && column_at(at) / size == block) { return false; }
  }
  return true;
}
