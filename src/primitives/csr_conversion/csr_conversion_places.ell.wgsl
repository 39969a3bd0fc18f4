// ELLPACK: a workgroup takes some slots of a few rows, and the next one the next slots of these, so that what is read
// of a row is near.
//
// Parts give     row_offsets (generated)
fn begin_places(group: u32, thread: Thread) {}
fn place_total() -> u32 { return params.place_count; }

fn place_of(group: u32, thread: Thread) -> u32 {
  let slots = WORKGROUP_SIZE / params.rows_per_group;
  let groups_per_row = (params.width + slots - 1u) / slots;
  let row = group / groups_per_row * params.rows_per_group + thread.index % params.rows_per_group;
  let slot = group % groups_per_row * slots + thread.index / params.rows_per_group;
  if (row >= params.row_stride || slot >= params.width) { return 0xffffffffu; }
  return slot * params.row_stride + row;
}

fn source_of(place: u32) -> u32 {
  let row = place % params.row_stride;
  if (row >= params.row_count) { return NO_SOURCE; }
  let source = row_offsets[params.offsets_first + row] + place / params.row_stride;
  return select(NO_SOURCE, source, source < row_offsets[params.offsets_first + row + 1u]);
}
