// csr_conversion_rest_lengths: the entries of each row past the first `width`. A thread a row.
//
// Prelude gives  WORKGROUP_SIZE
// Parts give     params (csr_conversion_params), row_offsets (generated), tile_index (grid)
@group(0) @binding(1) var<storage, read_write> lengths: array<u32>;

fn run(workgroup: Workgroup, thread: Thread) {
  let row = tile_index(workgroup.id, params.grid_width, params.grid_height) * WORKGROUP_SIZE + thread.index;
  if (row >= params.row_count) { return; }
  let at = params.offsets_first + row;
  let length = row_offsets[at + 1u] - row_offsets[at];
  lengths[row] = length - min(length, params.width);
}
