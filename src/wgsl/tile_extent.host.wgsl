// Extents known on the host.
fn row_length() -> u32 { return params.row_length; }
fn row_count() -> u32 { return params.row_count; }
