// Workgroups add what they have to i64 sums; see histogram_counters.pairs.wgsl for the carry.
@group(0) @binding(5) var<storage, read_write> output: array<atomic<u32>>;

fn emit(cell: u32, amount: Amount) {
  if (all(amount == vec2u(0u, 0u))) { return; }
  let before = atomicAdd(&output[2u * cell], amount.x);
  atomicAdd(&output[2u * cell + 1u], amount.y + select(0u, 1u, before + amount.x < before));
}
