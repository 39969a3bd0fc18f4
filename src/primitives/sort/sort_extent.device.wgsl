// The number of items is read from a buffer.
@group(0) @binding(7) var<storage, read> item_counts: array<u32>;

fn item_count() -> u32 { return min(item_counts[params.count_first], params.item_count); }
