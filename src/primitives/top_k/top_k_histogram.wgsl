// top_k_histogram: counts one digit of the keys whose greater digits are those found so far. Workgroups take tiles in
// turn, count in workgroup memory, and add to the counts of the device, which the kernel before left at zero.
//
// Prelude gives  WORKGROUP_SIZE, TILE_ITEMS, DIGITS, Key
// Parts give     begin_count, is_counted, count_sources (generated; top_k_source.*), ordered_bits (generated),
//                digit_at (top_k_bits.*), tile_index (grid)
struct HistogramParams {
  item_count: u32,
  shift: u32,
  digit_mask: u32,
  workgroup_count: u32,
  keys_first: u32,
  count_first: u32,
  grid_width: u32,
  grid_height: u32,
}

@group(0) @binding(0) var<uniform> params: HistogramParams;
@group(0) @binding(1) var<storage, read> keys_in: array<Key>;
@group(0) @binding(2) var<storage, read_write> counts: array<atomic<u32>>;

var<workgroup> tile_counts: array<atomic<u32>, DIGITS>;

// Additions of 1, which NVIDIA GPUs add up where threads meet: 2^26 equal keys cost 1.2 times as much as random ones.
fn count_key(key: Key) {
  let bits = ordered_bits(key);
  if (is_counted(bits)) { atomicAdd(&tile_counts[digit_at(bits, params.shift, params.digit_mask)], 1u); }
}

fn run(workgroup: Workgroup, thread: Thread) {
  let group = tile_index(workgroup.id, params.grid_width, params.grid_height);
  if (group >= params.workgroup_count) { return; }
  begin_count();
  count_sources(group, thread);
  workgroupBarrier();  // all keys are counted
  for (var d = thread.index; d < DIGITS; d += WORKGROUP_SIZE) {
    let found = atomicLoad(&tile_counts[d]);
    if (found != 0u) { atomicAdd(&counts[d], found); }
  }
}
