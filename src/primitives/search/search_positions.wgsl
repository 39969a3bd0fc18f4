// search_positions: where queries belong in sorted items. The first levels of the search look at every step-th item,
// which the workgroup reads once; the others at the items between two of these. Every query takes the same number of
// steps, so that threads do not part.
//
// Prelude gives  WORKGROUP_SIZE, SAMPLES (a power of two), QUERIES_PER_THREAD
// Parts give     item_total, query_total, load_item, load_query, is_behind (generated), tile_index (grid)
struct SearchParams {
  item_count: u32,   // or the most that the device may say
  query_count: u32,
  items_first: u32,
  queries_first: u32,
  positions_first: u32,
  item_count_first: u32,
  query_count_first: u32,
  grid_width: u32,
  grid_height: u32,
}

@group(0) @binding(0) var<uniform> params: SearchParams;
@group(0) @binding(3) var<storage, read_write> positions: array<u32>;

var<workgroup> samples: array<RawKey, SAMPLES>;

fn run(workgroup: Workgroup, thread: Thread) {
  let items = item_total();
  let queries = query_total();
  let group = tile_index(workgroup.id, params.grid_width, params.grid_height);
  let first = group * WORKGROUP_SIZE * QUERIES_PER_THREAD;
  if (first >= queries) { return; }
  var step = 1u;
  while (items / step > SAMPLES) { step *= 2u; }
  let sample_count = items / step;
  for (var s = thread.index; s < sample_count; s += WORKGROUP_SIZE) {
    samples[s] = load_item(s * step + step - 1u);
  }
  workgroupBarrier();  // all samples are stored
  // The queries of a thread step by step, so that their loads are on their way together.
  var query: array<RawKey, QUERIES_PER_THREAD>;
  var at: array<u32, QUERIES_PER_THREAD>;
  for (var k = 0u; k < QUERIES_PER_THREAD; k++) {
    query[k] = load_query(min(first + k * WORKGROUP_SIZE + thread.index, queries - 1u));
  }
  for (var half = SAMPLES; half > 0u; half /= 2u) {
    for (var k = 0u; k < QUERIES_PER_THREAD; k++) {
      if (at[k] + half <= sample_count && is_behind(query[k], samples[at[k] + half - 1u])) { at[k] += half; }
    }
  }
  for (var k = 0u; k < QUERIES_PER_THREAD; k++) { at[k] *= step; }
  // Steps are longer than an item only where there are items.
  for (var half = step / 2u; half > 0u; half /= 2u) {
    var item: array<RawKey, QUERIES_PER_THREAD>;
    for (var k = 0u; k < QUERIES_PER_THREAD; k++) { item[k] = load_item(min(at[k] + half, items) - 1u); }
    for (var k = 0u; k < QUERIES_PER_THREAD; k++) {
      if (at[k] + half <= items && is_behind(query[k], item[k])) { at[k] += half; }
    }
  }
  for (var k = 0u; k < QUERIES_PER_THREAD; k++) {
    let i = first + k * WORKGROUP_SIZE + thread.index;
    if (i < queries) { positions[params.positions_first + i] = at[k]; }
  }
}
