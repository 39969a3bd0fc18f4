// Segments by offsets in two buffers. Ends past the input are cut off; an end before its begin is an empty segment.
@group(0) @binding(8) var<storage, read> segment_begins: array<u32>;
@group(0) @binding(9) var<storage, read> segment_ends: array<u32>;

fn segment_bounds(segment: u32) -> vec2u {
  let begin = min(segment_begins[params.begins_first + segment], params.item_count);
  let end = min(segment_ends[params.ends_first + segment], params.item_count);
  return vec2u(begin, max(begin, end));
}
