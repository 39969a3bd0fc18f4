// ladder_reduce_subgroups: subgroups fold in registers; one value a subgroup goes through workgroup memory, with one
// barrier. Needs SUBGROUP_SLOTS (workgroup size / smallest possible subgroup size).
@group(0) @binding(2) var<storage, read_write> output: array<Item>;

var<workgroup> subgroup_totals: array<Item, SUBGROUP_SLOTS>;

fn run(workgroup: Workgroup, thread: Thread) {
  let tile = tile_index(workgroup.id, params.grid_width, params.grid_height);
  let folded = subgroup_sum(unit_sum(load_unit(tile * WORKGROUP_SIZE + thread.index)), thread);
  if (thread.lane == 0u) {
    subgroup_totals[thread.subgroup] = folded;
  }
  workgroupBarrier();  // one value a subgroup is stored
  if (thread.index == 0u && tile * TILE_ITEMS < params.item_count) {
    var total = subgroup_totals[0];
    for (var other = 1u; other < workgroup.subgroup_count; other++) {
      total += subgroup_totals[other];
    }
    output[tile] = total;
  }
}
