// Rows of known length; their count is read from a buffer. row_base of them lie before this range.
@group(0) @binding(9) var<storage, read> item_count: array<u32>;

fn row_length() -> u32 { return params.row_length; }
// Items of the row up to the end of this range.
fn items_so_far() -> u32 { return params.index_base + params.row_length; }
fn row_count() -> u32 {
  let count = item_count[params.count_first];
  return min(max(count, params.row_base) - params.row_base, params.row_count);
}
