// ladder_reduce_atomic: one atomic addition an item, all to the same word. WGSL has atomics of integers only.
@group(0) @binding(2) var<storage, read_write> output: array<atomic<u32>>;

fn run(workgroup: Workgroup, thread: Thread) {
  let index = tile_index(workgroup.id, params.grid_width, params.grid_height) * WORKGROUP_SIZE + thread.index;
  if (index < params.item_count) {
    atomicAdd(&output[0], input[index]);
  }
}
