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

// The number of items that the query lies behind.
fn find_position(query: RawKey, items: u32, sample_count: u32, step: u32) -> u32 {
  var at = 0u;
  for (var half = SAMPLES; half > 0u; half /= 2u) {
    if (at + half <= sample_count && is_behind(query, samples[at + half - 1u])) { at += half; }
  }
  at *= step;
  // Steps are longer than an item only where there are items.
  for (var half = step / 2u; half > 0u; half /= 2u) {
    let item = load_item(min(at + half, items) - 1u);
    if (at + half <= items && is_behind(query, item)) { at += half; }
  }
  return at;
}

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
  for (var k = 0u; k < QUERIES_PER_THREAD; k++) {
    let i = first + k * WORKGROUP_SIZE + thread.index;
    if (i < queries) {
      positions[params.positions_first + i] = find_position(load_query(i), items, sample_count, step);
    }
  }
}
