// sort_segment_spine: turns the counts of the chunks of long segments into positions, a workgroup a segment and a thread
// a digit.
//
// Prelude gives  WORKGROUP_SIZE, DIGITS
// Parts give     threads_exclusive (sort_threads.workgroup), tile_index (grid)
struct SegmentSpineParams {
  most_long: u32,
  most_chunks: u32,
  workgroup_count: u32,
  grid_width: u32,
  grid_height: u32,
}

@group(0) @binding(0) var<uniform> params: SegmentSpineParams;
@group(0) @binding(1) var<storage, read_write> partials: array<u32>;
// Begin, end, first chunk, chunks.
@group(0) @binding(2) var<storage, read_write> long_segments: array<vec4u>;
// See sort_lists.
@group(0) @binding(3) var<storage, read_write> lists: array<u32>;

const AT_ONCE = 8u;  // counts on their way

var<workgroup> shared_segment: vec4u;

fn counts_at(first: u32, digit: u32, chunk: u32, chunk_count: u32) -> array<u32, AT_ONCE> {
  var counts: array<u32, AT_ONCE>;
  for (var k = 0u; k < AT_ONCE; k++) {
    if (chunk + k < chunk_count) { counts[k] = partials[(first + chunk + k) * DIGITS + digit]; }
  }
  return counts;
}

// A segment without chunks where there are no more.
fn find_segment(slot: u32) -> vec4u {
  // Lists that overflowed hold less than they count.
  if (slot >= min(lists[1], params.most_long) || lists[2] > params.most_chunks) { return vec4u(0u); }
  return long_segments[slot];
}

fn run(workgroup: Workgroup, thread: Thread) {
  var slot = tile_index(workgroup.id, params.grid_width, params.grid_height);
  if (slot >= params.workgroup_count) { return; }
  let digit = thread.index;
  loop {
    if (thread.index == 0u) { shared_segment = find_segment(slot); }
    let segment = workgroupUniformLoad(&shared_segment);
    if (segment.w == 0u) { return; }
    var sum = 0u;
    if (digit < DIGITS) {
      for (var chunk = 0u; chunk < segment.w; chunk += AT_ONCE) {
        let counts = counts_at(segment.z, digit, chunk, segment.w);
        for (var k = 0u; k < AT_ONCE; k++) { sum += counts[k]; }
      }
    }
    var position = segment.x + threads_exclusive(vec2u(sum, 0u), thread, workgroup).x;
    if (digit < DIGITS) {
      for (var chunk = 0u; chunk < segment.w; chunk += AT_ONCE) {
        let counts = counts_at(segment.z, digit, chunk, segment.w);
        for (var k = 0u; k < AT_ONCE; k++) {
          if (chunk + k < segment.w) { partials[(segment.z + chunk + k) * DIGITS + digit] = position; }
          position += counts[k];
        }
      }
    }
    workgroupBarrier();  // sums of threads have been read
    slot += params.workgroup_count;
  }
}
