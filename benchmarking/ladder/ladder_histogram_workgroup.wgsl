// ladder_histogram_workgroup: counters in workgroup memory, added to the output at the end.
var<workgroup> counters: array<atomic<u32>, BIN_COUNT>;

fn run(workgroup: Workgroup, thread: Thread) {
  for (var bin = thread.index; bin < BIN_COUNT; bin += WORKGROUP_SIZE) {
    atomicStore(&counters[bin], 0u);
  }
  workgroupBarrier();  // all are zero
  let first = tile_index(workgroup.id, params.grid_width, params.grid_height) * params.chunk_items;
  for (var i = thread.index; i < params.chunk_items; i += WORKGROUP_SIZE) {
    if (first + i < params.item_count) {
      atomicAdd(&counters[bin_of(input[first + i])], 1u);
    }
  }
  workgroupBarrier();  // all have counted
  for (var bin = thread.index; bin < BIN_COUNT; bin += WORKGROUP_SIZE) {
    atomicAdd(&output[bin], atomicLoad(&counters[bin]));
  }
}
