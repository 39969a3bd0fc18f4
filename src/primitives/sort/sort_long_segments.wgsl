// Long segments in chunks: how many there are is known on the device alone.
// Begin, end, first chunk, chunks.
@group(0) @binding(7) var<storage, read_write> long_segments: array<vec4u>;
// Which long segment.
@group(0) @binding(8) var<storage, read_write> chunk_segments: array<u32>;
// See sort_lists.
@group(0) @binding(9) var<storage, read_write> lists: array<u32>;

struct Chunk {
  begin: u32,
  end: u32,
  segment_begin: u32,
  segment_end: u32,
}

var<workgroup> shared_chunk: Chunk;

// Of no items behind the last chunk; there is none if they did not fit into the lists.
fn find_chunk(chunk: u32) -> Chunk {
  if (chunk >= lists[2] || lists[2] > params.chunk_count) { return Chunk(); }
  let segment = long_segments[chunk_segments[chunk]];
  let begin = segment.x + (chunk - segment.z) * params.chunk_items;
  return Chunk(begin, begin + min(params.chunk_items, segment.y - begin), segment.x, segment.y);
}
