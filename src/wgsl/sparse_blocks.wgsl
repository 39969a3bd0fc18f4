// Blocks of block_size x block_size in compressed rows whose columns ascend, and which entry is the first of its block.
//
// Parts give     column_at, block_size (generated), start_at (of row_offsets, generated)

// Sizes are powers of two, or 3: a division by what is only known at run time takes several times as long.
fn block_of(index: u32) -> u32 {
  return select(index >> firstTrailingBit(block_size()), index / 3u, block_size() == 3u);
}

// The first of the entries from `begin` to `end`, all of a row, whose column is at least `column`, or `end`.
fn lower_entry_between(begin: u32, end: u32, column: u32) -> u32 {
  var low = begin;
  var high = end;
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

// The same of a whole row.
fn lower_entry(row: u32, column: u32) -> u32 { return lower_entry_between(start_at(row), start_at(row + 1u), column); }

// Does a row have an entry of the block? Rows of a block row are alike: the search begins `offset` entries behind the
// row's first and looks farther and farther from there.
fn has_block(row: u32, block: u32, offset: u32) -> bool {
  let end = start_at(row + 1u);
  var low = start_at(row);
  var high = end;
  if (low == high) { return false; }
  let column = block * block_size();
  let at = min(low + offset, high - 1u);
  let guess = column_at(at);
  if (block_of(guess) == block) { return true; }
  if (guess < column) {
    low = at + 1u;
    for (var step = 1u; low < high; step *= 2u) {
      let probe = min(low + step, high) - 1u;
      if (column_at(probe) >= column) {
        high = probe;
        break;
      }
      low = probe + 1u;
    }
  } else {
    high = at;
    for (var step = 1u; low < high; step *= 2u) {
      let probe = high - min(step, high - low);
      if (column_at(probe) < column) {
        low = probe + 1u;
        break;
      }
      high = probe;
    }
  }
  let found = lower_entry_between(low, high, column);
  return found < end && block_of(column_at(found)) == block;
}

// No earlier row of the block row has an entry of the entry's block.
fn is_first_row_of_block(entry: u32, row: u32, block: u32) -> bool {
  let offset = entry - start_at(row);
  let first_row = block_of(row) * block_size();
  for (var other = row; other > first_row; other--) {
    if (has_block(other - 1u, block, offset)) { return false; }
  }
  return true;
}

// First in the order of entries: no entry of the same block is in an earlier row, or before it in its own.
fn begins_block(entry: u32, row: u32) -> bool {
  let block = block_of(column_at(entry));
  if (entry > start_at(row) && block_of(column_at(entry - 1u)) == block) { return false; }
  return is_first_row_of_block(entry, row, block);
}
