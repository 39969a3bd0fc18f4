// Workgroups add what they have to the output.
@group(0) @binding(5) var<storage, read_write> output: array<atomic<u32>>;

fn emit(cell: u32, amount: Amount) {
  if (amount != 0u) { atomicAdd(&output[params.output_first + cell], amount); }
}
