// Output: one value a chunk, for a later pass.
@group(0) @binding(5) var<storage, read_write> output: array<Accumulator>;

fn store_total(slot: u32, total: Accumulator) {
  output[slot] = total;
}
