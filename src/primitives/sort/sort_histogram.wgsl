// sort_histogram: counts the digits of all passes at once. Workgroups take tiles in turn, count in workgroup memory, and
// add to the counts of the device at the end.
//
// Prelude gives  WORKGROUP_SIZE, TILE_ITEMS, DIGITS, PASSES
// Parts give     item_count (sort_extent.*), digit_of_number (sort_digit), count_tile (generated), tile_index (grid)
struct HistogramParams {
  item_count: u32,
  begin_bit: u32,
  end_bit: u32,
  workgroup_count: u32,
  keys_first: u32,
  count_first: u32,
  grid_width: u32,
  grid_height: u32,
}

@group(0) @binding(0) var<uniform> params: HistogramParams;
@group(0) @binding(1) var<storage, read> keys_in: array<Key>;
@group(0) @binding(2) var<storage, read_write> counts: array<atomic<u32>>;

var<workgroup> tile_counts: array<atomic<u32>, PASSES * DIGITS>;

fn count_key(key: Key) {
  for (var p = 0u; p < PASSES; p++) {
    atomicAdd(&tile_counts[p * DIGITS + digit_of(key, digit_of_number(p))], 1u);
  }
}

fn run(workgroup: Workgroup, thread: Thread) {
  let group = tile_index(workgroup.id, params.grid_width, params.grid_height);
  let count = item_count();
  if (group >= params.workgroup_count) { return; }
  let full_tiles = count / TILE_ITEMS;
  for (var tile = group; tile < full_tiles; tile += params.workgroup_count) {
    count_tile(params.keys_first + tile * TILE_ITEMS + thread.index);
  }
  if (group == full_tiles % params.workgroup_count) {
    for (var i = full_tiles * TILE_ITEMS + thread.index; i < count; i += WORKGROUP_SIZE) {
      count_key(keys_in[params.keys_first + i]);
    }
  }
  workgroupBarrier();  // all keys are counted
  for (var i = thread.index; i < PASSES * DIGITS; i += WORKGROUP_SIZE) {
    let found = atomicLoad(&tile_counts[i]);
    if (found != 0u) { atomicAdd(&counts[i], found); }
  }
}
