// The first subgroup folds the totals of the tiles before: a window of records at a time, one a lane, the nearest in
// lane 0. Ends without help of others: what is missing after POLL_ROUNDS looks is computed here.
var<workgroup> shared_before: Accumulator;

fn first_lane(lanes: vec4u) -> u32 {
  let word = select(select(select(3u, 2u, lanes.z != 0u), 1u, lanes.y != 0u), 0u, lanes.x != 0u);
  return select(word * 32u + countTrailingZeros(lanes[word]), 128u, all(lanes == vec4u(0u)));
}

// The fold of a tile by one subgroup. All who compute it do the same, bit for bit.
fn lend_total(tile: u32, range: Range, thread: Thread, workgroup: Workgroup) -> Accumulator {
  let first = (range.origin + tile * TILE_ITEMS) / UNIT_ITEMS;
  let ends = load_ends(range);
  var total = identity();
  for (var unit = 0u; unit < TILE_ITEMS / UNIT_ITEMS; unit += workgroup.subgroup_size) {
    let number = first + unit + thread.lane;
    let value = unit_total(import_edge_unit(load_edge_unit(number, ends, range), number, range), number, range);
    total = combine(total, subgroup_pick(subgroup_inclusive(value, thread, workgroup), workgroup.subgroup_size - 1u, thread));
  }
  return total;
}

fn look_back(tile: u32, total: Accumulator, tag: u32, range: Range, thread: Thread, workgroup: Workgroup) -> Accumulator {
  if (thread.subgroup == 0u) {
    var before = identity();  // as end_windows() takes it
    var next = tile;          // tiles from `next` to `tile` are in `before`
    var polls = 0u;
    while (next > 0u) {
      let is_tile = thread.lane < next;
      let record = read_record(next - 1u - min(thread.lane, next - 1u), tag);
      let missing = first_lane(subgroupBallot(is_tile && record.flag == FLAG_MISSING));
      let prefix = first_lane(subgroupBallot(is_tile && record.flag == FLAG_PREFIX));
      let taken = min(min(missing, prefix + 1u), min(next, workgroup.subgroup_size));
      before = add_window(choose(identity(), record.value, thread.lane < taken), before, thread, workgroup);
      if (prefix < missing) { break; }
      next -= taken;
      polls = select(0u, polls + 1u, taken == 0u);
      if (polls > POLL_ROUNDS) {
        polls = 0u;
        next -= 1u;
        let lent = lend_total(next, range, thread, workgroup);
        before = add_window(choose(identity(), lent, thread.lane == 0u), before, thread, workgroup);
        // A lent total has no flag that says that nothing before it matters.
        if (thread.lane == 0u && !starts_anew(lent)) { lend(next, lent, tag | (FLAG_LENT_TOTAL << 16u)); }
      }
    }
    before = end_windows(before, thread, workgroup);
    if (next == 0u) { before = combine(initial(), before); }
    if (thread.lane == 0u) {
      shared_before = before;
      let is_published = tile > 0u && starts_anew(total);
      if (!is_published && !is_hidden(tile)) { publish(tile, combine(before, total), tag | (FLAG_PREFIX << 16u)); }
    }
  }
  workgroupBarrier();  // the first subgroup has stored what it found
  return shared_before;
}
