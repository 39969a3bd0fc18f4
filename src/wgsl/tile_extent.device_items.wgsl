// One row whose length is read from a buffer in steps of ITEMS_PER_COUNT; this range holds the items from index_base on.
@group(0) @binding(9) var<storage, read> item_count: array<u32>;

// Items of the row up to the end of this range.
fn items_so_far() -> u32 {
  let count = min(item_count[params.count_first], 0xfffffffeu / ITEMS_PER_COUNT) * ITEMS_PER_COUNT;
  return min(count, params.index_base + params.row_length);
}
fn row_length() -> u32 { return max(items_so_far(), params.index_base) - params.index_base; }
fn row_count() -> u32 { return params.row_count; }
