// Counters in workgroup memory: i64 of two words. Additions of the low words wrap one after the other, so each wrap is
// seen by the addition that makes it.
var<workgroup> counters: array<atomic<u32>, 2u * COUNTER_COUNT>;

fn clear_counter(counter: u32) {
  atomicStore(&counters[2u * counter], 0u);
  atomicStore(&counters[2u * counter + 1u], 0u);
}
fn add_to_counter(counter: u32, amount: Amount) {
  let before = atomicAdd(&counters[2u * counter], amount.x);
  atomicAdd(&counters[2u * counter + 1u], amount.y + select(0u, 1u, before + amount.x < before));
}
fn load_counter(counter: u32) -> Amount {
  return vec2u(atomicLoad(&counters[2u * counter]), atomicLoad(&counters[2u * counter + 1u]));
}
fn add_amounts(a: Amount, b: Amount) -> Amount { return add64(a, b); }
