// The first subgroup folds the totals of the tiles before: a window of records at a time, one a lane, the nearest in
// lane 0. Ends without help of others: what is missing after POLL_ROUNDS looks is computed here.
var<workgroup> shared_before: Accumulator;

// The fold of a tile by one subgroup. All who compute it do the same, bit for bit. Rare, but what it keeps in registers
// all tiles pay for: no more than a unit.
fn lend_total(tile: u32, range: Range, thread: Thread, workgroup: Workgroup) -> Accumulator {
  let first = (range.origin + tile * TILE_ITEMS) / UNIT_ITEMS;
  var total = identity();  // as end_windows() takes it
  for (var unit = 0u; unit < TILE_ITEMS / UNIT_ITEMS; unit += workgroup.subgroup_size) {
    let number = first + unit + thread.lane;
    let loaded = load_edge_unit(number, load_items_apart(number, range), range);
    total = add_unit(total, unit_total(import_edge_unit(loaded, number, range), number, range), thread, workgroup);
  }
  return end_windows(total, thread, workgroup);
}

fn look_back(tile: u32, total: Accumulator, tag: u32, range: Range, thread: Thread, workgroup: Workgroup) -> Accumulator {
  if (thread.subgroup == 0u) {
    var before = identity();  // as end_windows() takes it
    var next = tile;          // tiles from `next` to `tile` are in `before`
    var polls = 0u;
    // Counted, though nothing else ends it: Tint counts the rounds of other loops in 64 bits.
    for (var look = 0u; look < 0x80000000u; look++) {
      if (next == 0u) { break; }
      let is_tile = thread.lane < next;
      let record = read_record(next - 1u - min(thread.lane, next - 1u), tag);
      let missing = first_lane(subgroupBallot(is_tile && record.flag == FLAG_MISSING));
      let prefix = first_lane(subgroupBallot(is_tile && record.flag == FLAG_PREFIX));
      var taken = min(min(missing, prefix + 1u), min(next, workgroup.subgroup_size));
      var value = choose(identity(), record.value, thread.lane < taken);
      polls = select(0u, polls + 1u, taken == 0u);
      if (polls > POLL_ROUNDS) {
        polls = 0u;
        taken = 1u;
        let lent = lend_total(next - 1u, range, thread, workgroup);
        let is_lender = thread.lane == missing;  // the one that looked at this tile: lane 0
        // A lent total has no flag that says that nothing before it matters.
        if (is_lender && !starts_anew(lent)) { lend(next - 1u, lent, tag | (FLAG_LENT_TOTAL << 16u)); }
        value = choose(identity(), lent, is_lender);
      }
      before = add_window(value, before, thread, workgroup);
      if (prefix < missing) { break; }
      next -= taken;
    }
    before = end_windows(before, thread, workgroup);
    if (next == 0u) { before = combine(initial(), before); }
    if (thread.lane == 0u) { shared_before = before; }
    let is_published = tile > 0u && starts_anew(total);
    if (!is_published && !is_hidden(tile)) {
      publish(tile, combine(before, total), tag | (FLAG_PREFIX << 16u), thread);
    }
  }
  workgroupBarrier();  // the first subgroup has stored what it found
  return shared_before;
}
