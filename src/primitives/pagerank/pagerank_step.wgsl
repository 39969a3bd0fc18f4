// pagerank_step: new ranks from the product, with sums of changes, of what dangles and of all for each workgroup. After
// the end it hands on the sums that it was given, so that the passes behind it see the end, too.
//
// Prelude gives  WORKGROUP_SIZE, TILE_ITEMS, Accumulator (vec4f: change, dangling, total)
// Parts give     step_tile, step_item (generated), pagerank_params, workgroup_reduce, tile_index (grid)
@group(0) @binding(2) var<storage, read_write> partials_in: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> partials_out: array<vec4f>;

var<workgroup> shared_sums: vec4f;

fn run(workgroup: Workgroup, thread: Thread) {
  let group = tile_index(workgroup.id, params.grid_width, params.grid_height);
  if (group >= params.group_count) { return; }
  var old = vec4f();
  if (params.partial_count == 0u) {
    // One thread's share: the sums of the plan before.
    if (thread.index == 0u) {
      old = vec4f(state_number(STATE_CHANGE), state_number(STATE_DANGLING), state_number(STATE_TOTAL), 0.0);
    }
  } else {
    for (var i = thread.index; i < params.partial_count; i += WORKGROUP_SIZE) { old += partials_in[i]; }
  }
  old = workgroup_reduce(old, thread, workgroup);
  if (thread.index == 0u) { shared_sums = old; }
  old = workgroupUniformLoad(&shared_sums);  // its barriers part the two uses of workgroup_reduce, too
  if (old.x <= params.tolerance) {
    if (thread.index == 0u) { partials_out[group] = select(vec4f(), old, group == 0u); }
    return;
  }
  // The product is linear in the old ranks: what their sum lacks to 1 is made up for here.
  let scale = params.damping / old.z;
  let base = fma(scale * params.share, old.y, params.teleport);
  var sums = vec4f();
  for (var tile = group * TILE_ITEMS; tile < params.node_count; tile += params.stride_items) {
    if (tile + TILE_ITEMS <= params.node_count) {
      sums += step_tile(tile + thread.index, scale, base);
    } else {
      for (var i = tile + thread.index; i < params.node_count; i += WORKGROUP_SIZE) {
        sums += step_item(i, scale, base);
      }
    }
  }
  let total = workgroup_reduce(sums, thread, workgroup);
  if (thread.index != 0u) { return; }
  partials_out[group] = total;
  if (group == 0u) { put_word(STATE_ITERATION, state[params.state_first + STATE_ITERATION] + 1u); }
}
