// What a tile has of runs that cross its ends goes to its record; reduce_by_key_carries folds records.
@group(0) @binding(2) var<storage, read_write> records: array<TileRun>;
@group(0) @binding(3) var<storage, read_write> results: array<RawResult>;

fn store_result(run_number: u32, value: InnerAccumulator) {
  results[params.results_first + run_number] = result_value(value);
}

// Of the items before the first head; `start` runs begin before the tile.
fn leave_lead(tile_number: u32, start: u32, has_heads: bool, value: InnerAccumulator) {
  records[tile_number].lead = value;
  records[tile_number].heads_before = select(NO_HEADS, start, has_heads);
}

// Of the last run, or of all items; `end` runs begin before the tile's end.
fn leave_tail(tile_number: u32, end: u32, value: InnerAccumulator) { records[tile_number].tail = value; }
