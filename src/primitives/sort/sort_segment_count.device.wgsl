// The number of segments is read from a buffer.
@group(0) @binding(8) var<storage, read> segment_counts: array<u32>;

fn segment_count() -> u32 { return min(segment_counts[params.segment_count_first], params.segment_count); }
