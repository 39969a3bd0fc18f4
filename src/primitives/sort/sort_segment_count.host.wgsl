// The number of segments is known when the sort is recorded.
fn segment_count() -> u32 { return params.segment_count; }
