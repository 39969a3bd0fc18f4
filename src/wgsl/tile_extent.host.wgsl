// Extents known on the host.
fn row_length() -> u32 { return params.row_length; }
// Items of the row up to the end of this range.
fn items_so_far() -> u32 { return params.index_base + params.row_length; }
fn row_count() -> u32 { return params.row_count; }
