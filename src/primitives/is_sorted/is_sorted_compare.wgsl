// is_sorted_compare: looks for items that come before the one in front of them. The least of their indices is how many
// items lead in order. Whoever begins behind one that is known has nothing to add.
//
// Prelude gives  WORKGROUP_SIZE, PAIRS_PER_THREAD
// Parts give     item_total, load_item (generated), comes_before, is_sorted_params, tile_index (grid)
fn run(workgroup: Workgroup, thread: Thread) {
  let group = tile_index(workgroup.id, params.grid_width, params.grid_height);
  let total = item_total();
  let rest = total - min(params.index_base + 1u, total);
  let pair_count = min(params.pair_count, rest);
  let first = group * WORKGROUP_SIZE * PAIRS_PER_THREAD + thread.index;
  if (first >= pair_count) { return; }
  if (atomicLoad(&leading_count[params.leading_first]) <= params.index_base + first) { return; }
  for (var k = 0u; k < PAIRS_PER_THREAD; k++) {
    let at = first + k * WORKGROUP_SIZE;
    if (at >= pair_count) { return; }
    if (comes_before(load_item(at + 1u), load_item(at))) {
      atomicMin(&leading_count[params.leading_first], params.index_base + at + 1u);
      atomicStore(&sorted_result[params.result_first], 0u);
      return;
    }
  }
}
