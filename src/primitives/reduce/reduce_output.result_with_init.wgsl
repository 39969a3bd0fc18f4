// Output: the result of a row, with the caller's initial value in front.
@group(0) @binding(5) var<storage, read_write> output: array<RawResult>;
@group(0) @binding(6) var<storage, read> init: array<RawInit>;

fn store_total(slot: u32, total: Accumulator) {
  output[slot] = result_value(combine(import_value(init_value(init[0]), 0u), total));
}
