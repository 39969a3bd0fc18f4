// The number of items is known when the sort is recorded.
fn item_count() -> u32 { return params.item_count; }
