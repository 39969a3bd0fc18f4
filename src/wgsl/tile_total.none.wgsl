fn store_total(row: u32, total: Accumulator, range: Range) {}
