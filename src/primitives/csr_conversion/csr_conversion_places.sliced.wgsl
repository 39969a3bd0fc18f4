// ELLPACK in slices, in the order of places.
//
// Parts give     row_offsets, row_at (generated), sparse_search
@group(0) @binding(5) var<storage, read> slice_offsets: array<u32>;
fn start_at(slice: u32) -> u32 { return slice_offsets[params.starts_first + slice]; }

fn begin_places(group: u32, thread: Thread) {
  // One more: the upper half of a word.
  bound_starts(group * WORKGROUP_SIZE, group * WORKGROUP_SIZE + WORKGROUP_SIZE, params.slice_count, thread);
}
fn place_total() -> u32 { return params.place_count; }
fn place_of(group: u32, thread: Thread) -> u32 { return group * WORKGROUP_SIZE + thread.index; }

fn source_of(place: u32) -> u32 {
  let slice = find_start(place);
  let within = place - start_at(slice);
  let ordered = slice * params.slice_rows + within % params.slice_rows;
  if (ordered >= params.row_count) { return NO_SOURCE; }
  let row = row_at(ordered);
  let source = row_offsets[params.offsets_first + row] + within / params.slice_rows;
  return select(NO_SOURCE, source, source < row_offsets[params.offsets_first + row + 1u]);
}
