// A row of items as positions [begin, end) that count from the first bound item; tiles begin at `origin`, where a vector
// load may begin.
struct Range {
  origin: u32,
  begin: u32,
  end: u32,
}

fn row_range(row: u32, length: u32) -> Range {
  let begin = params.input_first + params.halo + row * params.row_length;
  return Range(begin / UNIT_ITEMS * UNIT_ITEMS, begin, begin + length);
}

// Where a position and a unit lie in memory, and the item's index in its row.
fn item_place(position: u32, range: Range) -> u32 { return position; }
fn unit_place(unit: u32, range: Range) -> u32 { return unit; }
fn item_index(position: u32, range: Range) -> u32 { return position - range.begin + params.index_base; }
// The last place in memory of a tile that begins at position `first`.
fn last_place(first: u32, range: Range) -> u32 { return first + TILE_ITEMS - 1u; }
// The first position that may be read: items before a window are there for those that look at their neighbours.
fn first_readable(range: Range) -> u32 { return range.begin - params.halo; }
