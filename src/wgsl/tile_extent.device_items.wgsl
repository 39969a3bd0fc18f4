// One row whose length is read from a buffer in steps of ITEMS_PER_COUNT; this range holds the items from index_base on.
@group(0) @binding(9) var<storage, read> item_count: array<u32>;

fn row_length() -> u32 {
  let count = min(item_count[params.count_first], 0xfffffffeu / ITEMS_PER_COUNT) * ITEMS_PER_COUNT;
  return min(max(count, params.index_base) - params.index_base, params.row_length);
}
fn row_count() -> u32 { return params.row_count; }
