// ladder_reduce_tree_interleaved: each workgroup folds one tile in workgroup memory, neighbours first. The distance
// between the words that neighbouring threads touch doubles with every level: on a device whose workgroup memory has 32
// banks, from the fifth level on all of them meet in one bank.
@group(0) @binding(2) var<storage, read_write> output: array<Item>;

var<workgroup> values: array<Item, WORKGROUP_SIZE>;

fn run(workgroup: Workgroup, thread: Thread) {
  let tile = tile_index(workgroup.id, params.grid_width, params.grid_height);
  values[thread.index] = unit_sum(load_unit(tile * WORKGROUP_SIZE + thread.index));
  for (var stride = 1u; stride < WORKGROUP_SIZE; stride *= 2u) {
    workgroupBarrier();  // the level below is complete
    let left = 2u * stride * thread.index;
    if (left < WORKGROUP_SIZE) {
      values[left] += values[left + stride];
    }
  }
  if (thread.index == 0u && tile * TILE_ITEMS < params.item_count) {
    output[tile] = values[0];
  }
}
