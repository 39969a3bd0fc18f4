// csr_conversion_rest_rows: which rows have a rest and where theirs begins, as far as there is room, and how many
// there are. A thread a row with a rest, and one for the end.
//
// Prelude gives  WORKGROUP_SIZE
// Parts give     params (csr_conversion_params), store_row (generated), tile_index (grid)
@group(0) @binding(1) var<storage, read> row_totals: array<u32>;
@group(0) @binding(2) var<storage, read> rest_ends: array<u32>;
@group(0) @binding(3) var<storage, read_write> rest_offsets: array<u32>;
@group(0) @binding(4) var<storage, read_write> rest_counts: array<u32>;

fn run(workgroup: Workgroup, thread: Thread) {
  let i = tile_index(workgroup.id, params.grid_width, params.grid_height) * WORKGROUP_SIZE + thread.index;
  let rows = row_totals[0];
  if (i == 0u) {
    rest_counts[params.counts_first] = rows;
    var entries = 0u;
    if (rows != 0u) { entries = rest_ends[rows - 1u]; }
    rest_counts[params.counts_first + 1u] = entries;
  }
  if (i > min(rows, params.rest_row_room)) { return; }
  var begin = 0u;
  if (i != 0u) { begin = min(rest_ends[i - 1u], params.place_count); }
  rest_offsets[params.starts_first + i] = begin;
  if (i < min(rows, params.rest_row_room)) { store_row(i); }
}
