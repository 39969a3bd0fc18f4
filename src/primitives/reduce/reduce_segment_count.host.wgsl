fn segment_count() -> u32 { return params.segment_count; }
