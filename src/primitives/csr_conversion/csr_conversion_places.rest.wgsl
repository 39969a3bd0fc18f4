// The rest of a hybrid: compressed rows.
//
// Parts give     row_offsets (generated), sparse_search
@group(0) @binding(5) var<storage, read> rest_offsets: array<u32>;
@group(0) @binding(6) var<storage, read> rest_rows: array<u32>;
@group(0) @binding(7) var<storage, read> rest_counts: array<u32>;

fn start_at(row: u32) -> u32 { return rest_offsets[params.starts_first + row]; }
fn rest_row_total() -> u32 { return min(rest_counts[params.counts_first], params.rest_row_room); }

fn begin_places(group: u32, thread: Thread) {
  bound_starts(group * WORKGROUP_SIZE, group * WORKGROUP_SIZE + WORKGROUP_SIZE, rest_row_total(), thread);
}
// Offsets end at the room that there is.
fn place_total() -> u32 { return start_at(rest_row_total()); }
fn place_of(group: u32, thread: Thread) -> u32 { return group * WORKGROUP_SIZE + thread.index; }

fn source_of(place: u32) -> u32 {
  let rest_row = find_start(place);
  let row = rest_rows[params.order_first + rest_row];
  return row_offsets[params.offsets_first + row] + params.width + (place - start_at(rest_row));
}
