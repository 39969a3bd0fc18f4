// To the next window.
@group(0) @binding(13) var<storage, read_write> carry_out: array<Accumulator>;

fn store_total(row: u32, total: Accumulator, range: Range) { carry_out[0] = total; }
