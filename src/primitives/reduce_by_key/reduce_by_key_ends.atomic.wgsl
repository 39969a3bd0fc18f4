// What a tile has of runs that cross its ends goes into their results, where the pass over keys left the identity.
//
// Generated  fold_into_result
@group(0) @binding(3) var<storage, read_write> results: array<atomic<RawResult>>;

fn store_result(run_number: u32, value: InnerAccumulator) {
  atomicStore(&results[params.results_first + run_number], result_value(value));
}

// Of the items before the first head; `start` runs begin before the tile.
fn leave_lead(tile_number: u32, start: u32, has_heads: bool, value: InnerAccumulator) {
  if (has_heads && start != 0u) { fold_into_result(start - 1u, value); }
}

// Of the last run, or of all items; `end` runs begin before the tile's end.
fn leave_tail(tile_number: u32, end: u32, value: InnerAccumulator) {
  if (end != 0u) { fold_into_result(end - 1u, value); }
}
