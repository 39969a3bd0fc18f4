// sort_lists: tells segments apart by their length, and finds the first segment of each window. Segments of up to
// SMALL_ITEMS belong to the window that they begin in; longer ones that fit a window get one of their own; the others
// are cut into chunks.
//
// Prelude gives  WORKGROUP_SIZE, WINDOW_ITEMS, WINDOW_STEP, SMALL_ITEMS, SHORT_STEP, LISTS_HEADER
// Parts give     item_count (sort_extent.*), segment_count (sort_segment_count.*), tile_index (grid)
struct ListsParams {
  item_count: u32,
  segment_count: u32,
  window_count: u32,
  short_window_count: u32,
  short_first: u32,   // in lists
  medium_first: u32,
  shortest: u32,  // smaller segments are sort_short's
  most_medium: u32,   // room in the lists, which overlapping segments would exceed
  most_long: u32,
  most_chunks: u32,
  chunk_items: u32,
  begins_first: u32,
  ends_first: u32,
  count_first: u32,
  segment_count_first: u32,
  grid_width: u32,
  grid_height: u32,
}

@group(0) @binding(0) var<uniform> params: ListsParams;
@group(0) @binding(1) var<storage, read> segment_begins: array<u32>;
@group(0) @binding(2) var<storage, read> segment_ends: array<u32>;
// How many segments have their own window, how many are long, chunks, items; then of each window how many segments it
// holds, the first that begins in it, the same for windows of short segments; and the segments with windows of their own.
@group(0) @binding(3) var<storage, read_write> lists: array<atomic<u32>>;
// Begin, end, first chunk, chunks.
@group(0) @binding(4) var<storage, read_write> long_segments: array<vec4u>;
// Which long segment.
@group(0) @binding(5) var<storage, read_write> chunk_segments: array<u32>;

// The first segment that begins at `position` or after it.
fn first_segment(position: u32) -> u32 {
  var low = 0u;
  var high = segment_count();
  while (low < high) {
    let middle = low + (high - low) / 2u;
    if (segment_begins[params.begins_first + middle] < position) { low = middle + 1u; } else { high = middle; }
  }
  return low;
}

fn add_long_segment(begin: u32, end: u32) {
  let chunk_count = (end - begin - 1u) / params.chunk_items + 1u;
  let slot = atomicAdd(&lists[1], 1u);
  let first = atomicAdd(&lists[2], chunk_count);
  if (slot >= params.most_long || first + chunk_count > params.most_chunks) { return; }
  long_segments[slot] = vec4u(begin, end, first, chunk_count);
  for (var chunk = first; chunk < first + chunk_count; chunk++) { chunk_segments[chunk] = slot; }
}

fn run(workgroup: Workgroup, thread: Thread) {
  let group = tile_index(workgroup.id, params.grid_width, params.grid_height);
  let index = group * WORKGROUP_SIZE + thread.index;
  if (index == 0u) { atomicStore(&lists[3], item_count()); }
  if (index <= params.window_count) {
    atomicStore(&lists[LISTS_HEADER + params.window_count + index], first_segment(index * WINDOW_STEP));
  }
  if (index <= params.short_window_count) {
    atomicStore(&lists[params.short_first + index], first_segment(index * SHORT_STEP));
  }
  if (index >= segment_count()) { return; }
  let begin = min(segment_begins[params.begins_first + index], item_count());
  let end = min(segment_ends[params.ends_first + index], item_count());
  let length = max(begin, end) - begin;
  if (length > WINDOW_ITEMS) {
    add_long_segment(begin, end);
  } else if (length > SMALL_ITEMS) {
    let slot = atomicAdd(&lists[0], 1u);
    if (slot < params.most_medium) { atomicStore(&lists[params.medium_first + slot], index); }
  } else if (length >= params.shortest) {
    atomicAdd(&lists[LISTS_HEADER + begin / WINDOW_STEP], 1u);
  }
}
