// Segments of equal length.
fn segment_bounds(segment: u32) -> vec2u {
  return vec2u(segment * params.row_length, segment * params.row_length + params.row_length);
}
