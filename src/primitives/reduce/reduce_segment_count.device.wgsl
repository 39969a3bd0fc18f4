// The count of segments is read from a buffer; segment_base of them lie before this range.
@group(0) @binding(7) var<storage, read> item_count: array<u32>;

fn segment_count() -> u32 {
  let count = item_count[params.count_first];
  return min(max(count, params.segment_base) - params.segment_base, params.segment_count);
}
