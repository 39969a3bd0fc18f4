// check_operator: both groupings of three sampled items, the identity on either side of one, and both orders of two.
// Needs Accumulator, combine, identity, import_value, item_value, RawItem.
struct CheckParams {
  triple_count: u32,
}

@group(0) @binding(0) var<uniform> params: CheckParams;
@group(0) @binding(1) var<storage, read> samples: array<RawItem>;
@group(0) @binding(2) var<storage, read_write> results: array<Accumulator>;

fn sample(index: u32) -> Accumulator {
  return import_value(item_value(samples[index]), index);
}

fn run(workgroup: Workgroup, thread: Thread) {
  if (thread.index >= params.triple_count) { return; }
  let a = sample(thread.index * 3u);
  let b = sample(thread.index * 3u + 1u);
  let c = sample(thread.index * 3u + 2u);
  let base = thread.index * 7u;
  results[base] = combine(combine(a, b), c);
  results[base + 1u] = combine(a, combine(b, c));
  results[base + 2u] = a;
  results[base + 3u] = combine(a, identity());
  results[base + 4u] = combine(identity(), a);
  results[base + 5u] = combine(a, b);
  results[base + 6u] = combine(b, a);
}
