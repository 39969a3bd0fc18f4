// The number of items is read from a buffer; this range holds the samples from sample_base on.
@group(0) @binding(7) var<storage, read> item_count: array<u32>;

fn sample_count() -> u32 {
  // The product is cut before it can wrap.
  let items = min(item_count[params.count_first], (params.sample_base + params.sample_count) / CHANNELS);
  return max(items * CHANNELS, params.sample_base) - params.sample_base;
}
