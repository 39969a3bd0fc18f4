// Chunks of long segments, one after the other: how many there are is known on the device alone.
//
// Parts give     take_chunk
// Begin, end, first chunk, chunks.
@group(0) @binding(7) var<storage, read_write> long_segments: array<vec4u>;
// Which long segment.
@group(0) @binding(8) var<storage, read_write> chunk_segments: array<u32>;
// See sort_lists.
@group(0) @binding(9) var<storage, read_write> lists: array<u32>;

var<workgroup> shared_chunk: vec3u;

fn partial_at(digit: u32, chunk: u32) -> u32 { return chunk * DIGITS + digit; }

// Begin and end of a chunk, and the number of chunks.
fn find_chunk(chunk: u32) -> vec3u {
  // None if they did not fit into the lists.
  let chunk_count = select(lists[2], 0u, lists[2] > params.chunk_count);
  if (chunk >= chunk_count) { return vec3u(0u, 0u, chunk_count); }
  let segment = long_segments[chunk_segments[chunk]];
  let begin = segment.x + (chunk - segment.z) * params.chunk_items;
  return vec3u(begin, begin + min(params.chunk_items, segment.y - begin), chunk_count);
}

fn run(workgroup: Workgroup, thread: Thread) {
  var chunk = tile_index(workgroup.id, params.grid_width, params.grid_height);
  if (chunk >= params.workgroup_count) { return; }
  loop {
    if (thread.index == 0u) { shared_chunk = find_chunk(chunk); }
    let range = workgroupUniformLoad(&shared_chunk);
    if (chunk >= range.z) { return; }
    take_chunk(chunk, range.x, range.y, workgroup, thread);
    chunk += params.workgroup_count;
  }
}
