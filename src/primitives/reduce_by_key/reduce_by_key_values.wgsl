// reduce_by_key_values: a workgroup folds the values of a tile; where runs begin is known from the pass over the keys.
// Nothing is looked at outside the tile; what it has of runs that others have a part of, it leaves.
//
// Each subgroup has a piece of the tile and takes it group by group, eight neighbouring values a lane: a loop, which keeps
// registers few. What a run comes to is staged where the next one begins, at first without what lies before a lane. Where
// the tile has more runs than the stage holds, those of a group are stored before the next one is folded.
//
// Prelude gives  InnerAccumulator, LANES, SUBGROUPS, STAGE, TILE_ITEMS, UNIT_ITEMS
// Parts give     Group, load_group, fold_group, combine_if, start_lane, scan_segments (generated), row_range,
//                is_whole_tile, count_tiles (frame), store_result, leave_lead, leave_tail (reduce_by_key_ends.*)
var<workgroup> staged: array<InnerAccumulator, STAGE>;
// Of each subgroup: what comes before its first head, where it stores group by group; what its last run comes to; the
// runs that begin in it.
var<workgroup> subgroup_firsts: array<InnerAccumulator, SUBGROUPS>;
var<workgroup> subgroup_tails: array<InnerAccumulator, SUBGROUPS>;
var<workgroup> subgroup_heads: array<u32, SUBGROUPS>;
var<workgroup> shared_runs: u32;

// What a subgroup has of the tile.
struct Piece {
  unit: u32,
  is_tile: bool,
  is_full: bool,
  masks: u32,  // of the lane, 8 bits a group
  // Of each group the heads in the lanes before, and in all: counts of two groups to a word.
  low_before: u32,
  high_before: u32,
  low_all: u32,
  high_all: u32,
}

// Of the groups so far.
struct Taken {
  open: InnerAccumulator,
  heads: u32,
}

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
  let low = countOneBits(masks & 0xffu) | (countOneBits(masks & 0xff00u) << 16u);
  let high = countOneBits(masks & 0xff0000u) | (countOneBits(masks & 0xff000000u) << 16u);
  let low_before = subgroupExclusiveAdd(low);
  let high_before = subgroupExclusiveAdd(high);
  let low_all = subgroupShuffle(low_before + low, LANES - 1u);
  let high_all = subgroupShuffle(high_before + high, LANES - 1u);
  let piece = Piece(unit, is_tile, is_full, masks, low_before, high_before, low_all, high_all);
  if (thread.index == 0u) { shared_runs = end - start; }
  let runs = workgroupUniformLoad(&shared_runs);
  let is_dense = runs > STAGE;
  let own_slot = select(own_start - start, thread.subgroup * LANES * 8u, is_dense);
  let groups = params.rows / 2u;  // not known to the compiler, so that it does not unroll
  var taken = Taken(no_value(), 0u);
  if (is_dense) {
    for (var g = 0u; g < groups; g++) {
      let before = taken.heads;
      taken = take_group(g, piece, own_slot, taken, range, thread, workgroup);
      workgroupBarrier();  // the groups are staged
      for (var k = 0u; k < 8u; k++) {
        let i = before + thread.lane + k * LANES;
        if (i >= taken.heads) { break; }
        let value = staged[own_slot + i - before];
        if (i == 0u) {
          subgroup_firsts[thread.subgroup] = value;
        } else {
          store_result(own_start + i - 1u, value);
        }
      }
      workgroupBarrier();  // the stage may be filled again
    }
  } else {
    for (var g = 0u; g < groups; g++) {
      taken = take_group(g, piece, own_slot + taken.heads, taken, range, thread, workgroup);
    }
  }
  if (thread.lane == 0u) {
    subgroup_tails[thread.subgroup] = taken.open;
    subgroup_heads[thread.subgroup] = taken.heads;
  }
  workgroupBarrier();  // all pieces are staged, and what they leave
  if (thread.lane == 0u) {
    var before = no_value();
    for (var other = thread.subgroup; other > 0u; other--) {
      before = combine_values(subgroup_tails[other - 1u], before);
      if (subgroup_heads[other - 1u] != 0u) { break; }
    }
    if (taken.heads != 0u) {
      if (!is_dense) {
        staged[own_slot] = combine_values(before, staged[own_slot]);
      } else {
        let value = combine_values(before, subgroup_firsts[thread.subgroup]);
        if (own_start != start) {
          store_result(own_start - 1u, value);
        } else {
          leave_lead(number, start, true, value);
        }
      }
    }
    if (thread.subgroup == SUBGROUPS - 1u) { leave_tail(number, end, combine_if(before, taken.open, taken.heads == 0u)); }
  }
  if (is_dense) { return; }
  workgroupBarrier();  // the first runs of all pieces are whole
  if (thread.index == 0u) { leave_lead(number, start, runs != 0u, staged[0]); }
  // The run before the tile's first head is not whole.
  for (var k = 0u; k < STAGE / WORKGROUP_SIZE; k++) {
    let i = thread.index + k * WORKGROUP_SIZE;
    if (i >= runs) { break; }
    if (i > 0u) { store_result(start + i - 1u, staged[i]); }
  }
}

// Folds and stages group `g` from `slot` on.
fn take_group(g: u32, piece: Piece, slot: u32, taken: Taken, range: Range, thread: Thread,
              workgroup: Workgroup) -> Taken {
  let group = load_group(piece.unit + g * LANES * 2u, piece.is_tile, piece.is_full, range);
  let mask = (piece.masks >> (g * 8u)) & 0xffu;
  let shift = g % 2u * 16u;
  let heads_before = (select(piece.low_before, piece.high_before, g >= 2u) >> shift) & 0xffffu;
  let heads = (select(piece.low_all, piece.high_all, g >= 2u) >> shift) & 0xffffu;
  let at = slot + heads_before;
  let value = fold_group(group, mask, at);
  let scanned = scan_segments(value, start_lane(subgroupBallot(mask != 0u), thread.lane), thread, workgroup);
  var before = select(no_value(), subgroupShuffleUp(scanned, 1u), thread.lane > 0u);
  before = combine_if(taken.open, before, heads_before == 0u);
  if (mask != 0u) { staged[at] = combine_values(before, staged[at]); }
  return Taken(combine_if(taken.open, subgroupShuffle(scanned, LANES - 1u), heads == 0u), taken.heads + heads);
}

// Bit k: whether value k of the lane begins a run; `word` has the four bits of the lane in each row of the keys.
fn own_masks(word: u32, lane: u32) -> u32 {
  let source = lane * 2u % LANES;
  let row = lane * 2u / LANES * 4u;
  return ((subgroupShuffle(word, source) >> row) & 0x0f0f0f0fu) |
         (((subgroupShuffle(word, source + 1u) >> row) & 0x0f0f0f0fu) << 4u);
}
