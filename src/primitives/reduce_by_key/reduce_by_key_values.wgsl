// reduce_by_key_values: a workgroup folds the values of a tile; where runs begin is known from the pass over the keys.
// Nothing is looked at outside the tile; what it has of runs that others have a part of, it leaves.
//
// Each subgroup has a piece of the tile and takes it group by group, eight neighbouring values a lane: a loop, which keeps
// registers few. What a run comes to is staged where the next one begins, at first without what lies before a lane.
//
// Prelude gives  InnerAccumulator, LANES, SUBGROUPS, STAGE, TILE_ITEMS, UNIT_ITEMS
// Parts give     Group, load_group, fold_group, combine_if, start_lane, scan_segments (generated), row_range,
//                is_whole_tile, count_tiles (frame), store_result, leave_lead, leave_tail (reduce_by_key_ends.*)
var<workgroup> staged: array<InnerAccumulator, STAGE + 1u>;
// Of each subgroup: what its last run comes to, and the runs that begin in it.
var<workgroup> subgroup_tails: array<InnerAccumulator, SUBGROUPS>;
var<workgroup> subgroup_heads: array<u32, SUBGROUPS>;
var<workgroup> shared_runs: u32;

fn run(workgroup: Workgroup, thread: Thread) {
  let tile = tile_index(workgroup.id, params.grid_width, params.grid_height);
  if (tile >= params.chunks_per_row) { return; }
  let range = row_range(0u, row_length());
  // No way out where the length is in a buffer: barriers follow.
  let is_tile = tile < count_tiles(range);
  let first = range.origin + tile * TILE_ITEMS;
  let is_full = is_whole_tile(first, range);
  let unit = first / UNIT_ITEMS + thread.subgroup * LANES * 8u + thread.lane * 2u;
  let number = params.tile_base + tile;
  var word = 0u;
  var start = 0u;  // runs that begin before the tile
  var own_start = 0u;
  var end = 0u;
  if (is_tile) {
    word = head_masks[number * WORKGROUP_SIZE + thread.subgroup * LANES + thread.lane];
    start = tile_starts[number * (SUBGROUPS + 1u)];
    own_start = tile_starts[number * (SUBGROUPS + 1u) + thread.subgroup];
    end = tile_starts[number * (SUBGROUPS + 1u) + SUBGROUPS];
  }
  let masks = own_masks(word, thread.lane);
  // Counts of two groups to a word.
  let low = countOneBits(masks & 0xffu) | (countOneBits(masks & 0xff00u) << 16u);
  let high = countOneBits(masks & 0xff0000u) | (countOneBits(masks & 0xff000000u) << 16u);
  let low_before = subgroupExclusiveAdd(low);
  let high_before = subgroupExclusiveAdd(high);
  let low_all = subgroupShuffle(low_before + low, LANES - 1u);
  let high_all = subgroupShuffle(high_before + high, LANES - 1u);
  let own_runs = (low_all & 0xffffu) + (low_all >> 16u) + (high_all & 0xffffu) + (high_all >> 16u);
  if (thread.index == 0u) { shared_runs = end - start; }
  var done = 0u;
  loop {
    let own_slot = own_start - start - done;
    // Later rounds leave out pieces without runs in the stage's window.
    let is_staged = done == 0u || (bitcast<i32>(own_slot) < i32(STAGE) && bitcast<i32>(own_slot + own_runs) > 0);
    let groups = select(0u, params.rows / 2u, is_staged);  // not known to the compiler, so that it does not unroll
    var slot = own_slot;
    var open = no_value();
    for (var g = 0u; g < groups; g++) {
      let group = load_group(unit + g * LANES * 2u, is_tile, is_full, range);
      let mask = (masks >> (g * 8u)) & 0xffu;
      let shift = g % 2u * 16u;
      let heads_before = (select(low_before, high_before, g >= 2u) >> shift) & 0xffffu;
      let heads = (select(low_all, high_all, g >= 2u) >> shift) & 0xffffu;
      let at = slot + heads_before;
      let value = fold_group(group, mask, at);
      let scanned = scan_segments(value, start_lane(subgroupBallot(mask != 0u), thread.lane), thread, workgroup);
      var before = select(no_value(), subgroupShuffleUp(scanned, 1u), thread.lane > 0u);
      before = combine_if(open, before, heads_before == 0u);
      if (mask != 0u && at < STAGE) { staged[at] = combine_values(before, staged[at]); }
      open = combine_if(open, subgroupShuffle(scanned, LANES - 1u), heads == 0u);
      slot += heads;
    }
    if (thread.lane == 0u && is_staged) {
      subgroup_tails[thread.subgroup] = open;
      subgroup_heads[thread.subgroup] = slot - own_slot;
    }
    workgroupBarrier();  // all pieces are staged, and what they leave
    if (thread.lane == 0u) {
      var before = no_value();
      for (var other = thread.subgroup; other > 0u; other--) {
        before = combine_values(subgroup_tails[other - 1u], before);
        if (subgroup_heads[other - 1u] != 0u) { break; }
      }
      if (slot != own_slot && own_slot < STAGE) { staged[own_slot] = combine_values(before, staged[own_slot]); }
      if (thread.subgroup == SUBGROUPS - 1u && done == 0u) {
        leave_tail(number, end, combine_if(before, open, slot == own_slot));
      }
    }
    let runs = workgroupUniformLoad(&shared_runs);  // the first runs of all pieces are whole
    if (thread.index == 0u && done == 0u) { leave_lead(number, start, runs != 0u, staged[0]); }
    // The run before the tile's first head is not whole.
    let staged_count = min(runs - done, STAGE);
    for (var k = 0u; k < STAGE / WORKGROUP_SIZE; k++) {
      let i = thread.index + k * WORKGROUP_SIZE;
      if (i >= staged_count) { break; }
      if (i + done > 0u) { store_result(start + done + i - 1u, staged[i]); }
    }
    done += STAGE;
    if (done >= runs) { break; }
    workgroupBarrier();  // the stage may be filled again
  }
}

// Bit k: whether value k of the lane begins a run; `word` has the four bits of the lane in each row of the keys.
fn own_masks(word: u32, lane: u32) -> u32 {
  let source = lane * 2u % LANES;
  let row = lane * 2u / LANES * 4u;
  return ((subgroupShuffle(word, source) >> row) & 0x0f0f0f0fu) |
         (((subgroupShuffle(word, source + 1u) >> row) & 0x0f0f0f0fu) << 4u);
}
