// Chunks of long segments, one after the other.
//
// Parts give     take_chunk, shared_chunk, find_chunk (sort_long_segments)
fn partial_at(digit: u32, chunk: u32) -> u32 { return chunk * DIGITS + digit; }

fn run(workgroup: Workgroup, thread: Thread) {
  var number = tile_index(workgroup.id, params.grid_width, params.grid_height);
  if (number >= params.workgroup_count) { return; }
  loop {
    if (thread.index == 0u) { shared_chunk = find_chunk(number); }
    let chunk = workgroupUniformLoad(&shared_chunk);
    if (chunk.begin == chunk.end) { return; }
    take_chunk(number, chunk.begin, chunk.end, workgroup, thread);
    number += params.workgroup_count;
  }
}
