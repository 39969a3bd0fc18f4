// Counters in workgroup memory: a word each.
var<workgroup> counters: array<atomic<u32>, COUNTER_COUNT>;

fn clear_counter(counter: u32) { atomicStore(&counters[counter], 0u); }
fn add_to_counter(counter: u32, amount: Amount) { atomicAdd(&counters[counter], amount); }
fn load_counter(counter: u32) -> Amount { return atomicLoad(&counters[counter]); }
fn add_amounts(a: Amount, b: Amount) -> Amount { return a + b; }
