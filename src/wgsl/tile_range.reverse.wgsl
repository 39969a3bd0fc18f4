// A row of items from its end to its beginning: position p lies at mirror - p, and mirror + 1 is a whole number of units.
struct Range {
  origin: u32,
  begin: u32,
  end: u32,
  mirror: u32,
  first: u32,  // place of the row's first item
}

fn row_range(row: u32, length: u32) -> Range {
  let first = params.input_first + params.halo + row * params.row_length;
  let padded = (first + length + UNIT_ITEMS - 1u) / UNIT_ITEMS * UNIT_ITEMS;
  let begin = padded - (first + length);
  return Range(0u, begin, begin + length, padded - 1u, first);
}

fn item_place(position: u32, range: Range) -> u32 { return range.mirror - position; }
fn unit_place(unit: u32, range: Range) -> u32 { return range.mirror / UNIT_ITEMS - unit; }
fn item_index(position: u32, range: Range) -> u32 {
  return range.mirror - position - range.first + params.index_base;
}
// The last place in memory of a tile that begins at position `first`.
fn last_place(first: u32, range: Range) -> u32 { return range.mirror - first; }
// The first position that may be read: items before a window are there for those that look at their neighbours.
fn first_readable(range: Range) -> u32 { return range.begin - params.halo; }
