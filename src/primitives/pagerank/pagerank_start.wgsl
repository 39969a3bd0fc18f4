// pagerank_start: all ranks alike, with sums of what dangles and of all for each workgroup.
//
// Prelude gives  WORKGROUP_SIZE, TILE_ITEMS, Accumulator (vec4f: change, dangling, total)
// Parts give     start_tile, start_item (generated), pagerank_params, workgroup_reduce, tile_index (grid)
@group(0) @binding(3) var<storage, read_write> partials_out: array<vec4f>;

fn run(workgroup: Workgroup, thread: Thread) {
  let group = tile_index(workgroup.id, params.grid_width, params.grid_height);
  if (group >= params.group_count) { return; }
  var sums = vec4f();
  for (var tile = group * TILE_ITEMS; tile < params.node_count; tile += params.stride_items) {
    if (tile + TILE_ITEMS <= params.node_count) {
      sums += start_tile(tile + thread.index);
    } else {
      for (var i = tile + thread.index; i < params.node_count; i += WORKGROUP_SIZE) { sums += start_item(i); }
    }
  }
  let total = workgroup_reduce(sums, thread, workgroup);
  if (thread.index == 0u) { partials_out[group] = total; }
}
