// One row whose length is read from a buffer; this range holds the items from index_base on.
@group(0) @binding(7) var<storage, read> item_count: array<u32>;

fn row_length() -> u32 {
  let count = item_count[params.count_first];
  return min(max(count, params.index_base) - params.index_base, params.row_length);
}
fn row_count() -> u32 { return params.row_count; }
