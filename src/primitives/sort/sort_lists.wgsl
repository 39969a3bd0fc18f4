// sort_lists: tells segments apart by their length, and finds the first segment of each window. Segments of up to
// SMALL_ITEMS belong to the window that they begin in; longer ones that fit a window, or a large one, get one of their
// own; the others are cut into chunks, which may get large windows.
//
// Prelude gives  WORKGROUP_SIZE, WINDOW_ITEMS, WINDOW_STEP, SMALL_ITEMS, LARGE_ITEMS, SHORT_STEP, LISTS_HEADER
// Parts give     item_count (sort_extent.*), segment_count (sort_segment_count.*), tile_index (grid)
struct ListsParams {
  item_count: u32,
  segment_count: u32,
  window_count: u32,
  short_window_count: u32,
  short_first: u32,  // in lists
  jobs_first: u32,   // in lists
  large_first: u32,  // in lists; jobs_first if all windows are large
  shortest: u32,     // smaller segments are sort_short's
  longest: u32,      // the lists have no room for longer ones
  most_jobs: u32,    // room in the lists, which overlapping segments would exceed
  most_large: u32,
  large_counter: u32,  // in lists
  most_long: u32,
  most_chunks: u32,
  chunk_items: u32,
  chunks_are_jobs: u32,
  begins_first: u32,
  ends_first: u32,
  count_first: u32,
  segment_count_first: u32,
  grid_width: u32,
  grid_height: u32,
}

const ONE_SEGMENT = 0x80000000u;  // as sort_window.wgsl

@group(0) @binding(0) var<uniform> params: ListsParams;
@group(0) @binding(1) var<storage, read> segment_begins: array<u32>;
@group(0) @binding(2) var<storage, read> segment_ends: array<u32>;
// How many jobs, how many segments are long, chunks, items, jobs of large windows; then of each window whether it is a
// job, and the first segment that begins in it; that of windows of short segments; the jobs, of two words: a window, or
// ONE_SEGMENT and the begin and the end of what has a window of its own; those of large windows.
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
  if (slot >= params.most_long) { return; }
  let first = atomicAdd(&lists[2], chunk_count);
  if (first + chunk_count > params.most_chunks) { return; }
  long_segments[slot] = vec4u(begin, end, first, chunk_count);
  for (var chunk = first; chunk < first + chunk_count; chunk++) { chunk_segments[chunk] = slot; }
  if (params.chunks_are_jobs == 0u) { return; }
  add_jobs(begin, end, params.chunk_items, params.large_counter, params.large_first, params.most_large);
}

// A job for each `items` positions.
fn add_jobs(begin: u32, end: u32, items: u32, counter: u32, first: u32, most: u32) {
  var slot = atomicAdd(&lists[counter], (end - begin - 1u) / items + 1u);
  for (var at = begin; at < end && slot < most; at += items) {
    atomicStore(&lists[first + 2u * slot], ONE_SEGMENT | at);
    atomicStore(&lists[first + 2u * slot + 1u], at + min(items, end - at));
    slot++;
  }
}

fn add_window(window: u32) {
  let is_listed = &lists[LISTS_HEADER + window];
  if (atomicLoad(is_listed) != 0u || atomicExchange(is_listed, 1u) != 0u) { return; }
  let slot = atomicAdd(&lists[0], 1u);
  if (slot < params.most_jobs) { atomicStore(&lists[params.jobs_first + 2u * slot], window); }
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
  if (length < params.shortest || length > params.longest) { return; }
  if (length > LARGE_ITEMS) {
    add_long_segment(begin, end);
  } else if (length > WINDOW_ITEMS) {
    add_jobs(begin, end, LARGE_ITEMS, params.large_counter, params.large_first, params.most_large);
  } else if (length > SMALL_ITEMS) {
    add_jobs(begin, end, WINDOW_ITEMS, 0u, params.jobs_first, params.most_jobs);
  } else {
    add_window(begin / WINDOW_STEP);
  }
}
