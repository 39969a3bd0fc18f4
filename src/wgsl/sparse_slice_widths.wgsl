// sparse_slice_widths: the entries of the longest row of each slice. A workgroup takes a few slices, its threads their
// rows.
//
// Prelude gives  WORKGROUP_SIZE
// Parts give     row_at, store_width (generated), tile_index (grid)
struct SliceWidthsParams {
  row_count: u32,
  slice_rows: u32,
  slice_count: u32,
  slices_per_group: u32,  // up to WORKGROUP_SIZE
  sum_word: u32,
  offsets_first: u32,
  order_first: u32,
  counters_first: u32,
  grid_width: u32,
  grid_height: u32,
}

@group(0) @binding(0) var<uniform> params: SliceWidthsParams;
@group(0) @binding(1) var<storage, read> row_offsets: array<u32>;

var<workgroup> widths: array<atomic<u32>, WORKGROUP_SIZE>;

fn run(workgroup: Workgroup, thread: Thread) {
  let group = tile_index(workgroup.id, params.grid_width, params.grid_height);
  let first_slice = min(group * params.slices_per_group, params.slice_count);
  let slices = min(params.slices_per_group, params.slice_count - first_slice);
  let first = first_slice * params.slice_rows;
  let end = min(first + slices * params.slice_rows, params.row_count);
  for (var place = first + thread.index; place < end; place += WORKGROUP_SIZE) {
    let at = params.offsets_first + row_at(place);
    atomicMax(&widths[(place - first) / params.slice_rows], row_offsets[at + 1u] - row_offsets[at]);
  }
  workgroupBarrier();  // widths are complete
  if (thread.index < slices) { store_width(first_slice + thread.index, atomicLoad(&widths[thread.index])); }
}
