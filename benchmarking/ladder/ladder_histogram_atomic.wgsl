// ladder_histogram_atomic: one atomic addition to the output a sample.
fn run(workgroup: Workgroup, thread: Thread) {
  let first = tile_index(workgroup.id, params.grid_width, params.grid_height) * params.chunk_items;
  for (var i = thread.index; i < params.chunk_items; i += WORKGROUP_SIZE) {
    if (first + i < params.item_count) {
      atomicAdd(&output[bin_of(input[first + i])], 1u);
    }
  }
}
