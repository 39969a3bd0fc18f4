// ladder_reduce_tree_sequential: the same tree with the stride from half the size down. Neighbouring threads touch
// neighbouring words at every level, so no two of them meet in a bank, and threads retire from the end: whole
// subgroups at a time.
@group(0) @binding(2) var<storage, read_write> output: array<Item>;

var<workgroup> values: array<Item, WORKGROUP_SIZE>;

fn run(workgroup: Workgroup, thread: Thread) {
  let tile = tile_index(workgroup.id, params.grid_width, params.grid_height);
  values[thread.index] = unit_sum(load_unit(tile * WORKGROUP_SIZE + thread.index));
  for (var stride = WORKGROUP_SIZE / 2u; stride > 0u; stride /= 2u) {
    workgroupBarrier();  // the level above is complete
    if (thread.index < stride) {
      values[thread.index] += values[thread.index + stride];
    }
  }
  if (thread.index == 0u && tile * TILE_ITEMS < params.item_count) {
    output[tile] = values[0];
  }
}
