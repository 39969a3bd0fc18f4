// Output: the result of a row.
@group(0) @binding(5) var<storage, read_write> output: array<RawResult>;

fn store_total(slot: u32, total: Accumulator) {
  output[slot] = result_value(total);
}
