// The number of samples is known on the host.
fn sample_count() -> u32 { return params.sample_count; }
