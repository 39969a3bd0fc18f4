// reduce_by_key_values: each workgroup folds the values of one tile. Where runs begin, and how many begin before the tile,
// is known from the pass over the keys. Nothing is looked at outside the tile: the records of tiles are folded afterwards.
var<workgroup> shared_start: vec2u;

fn run(workgroup: Workgroup, thread: Thread) {
  let tile = tile_index(workgroup.id, params.grid_width, params.grid_height);
  if (tile >= params.chunks_per_row) { return; }
  // Through workgroup memory: what a count in a buffer decides must be uniform for the compiler, too.
  let tile_number = params.tile_base + tile;
  if (thread.index == 0u) { shared_start = vec2u(row_length(), tile_starts[tile_number]); }
  let start = workgroupUniformLoad(&shared_start);
  let range = row_range(0u, start.x);
  if (tile >= count_tiles(range)) {
    if (thread.index == 0u) { records[tile_number] = TileRun(no_value(), no_value(), NO_HEADS); }
    return;
  }
  let first = range.origin + tile * TILE_ITEMS;
  let size = workgroup.subgroup_size;
  let unit = first / UNIT_ITEMS + thread.subgroup * size * 8u + thread.lane * 4u;
  let units = load_tile(unit, size * 4u, is_whole_tile(first, range), range);
  // A word of the lane's 32 items in the order of items; then the 16 of each block.
  let word = items_in_order(head_masks[tile_number * WORKGROUP_SIZE + thread_rank(thread, workgroup)], thread.lane);
  let groups = size / 8u;
  let in_order = subgroupShuffle(word, thread.lane % groups * 8u + thread.lane / groups);
  let shift = thread.lane % 2u * 16u;
  let mask0 = (subgroupShuffle(in_order, thread.lane / 2u) >> shift) & 0xffffu;
  let mask1 = (subgroupShuffle(in_order, size / 2u + thread.lane / 2u) >> shift) & 0xffffu;
  fold_tile(units, mask0, mask1, tile_number, start.y, thread, workgroup);
}

// Eight lanes hold four bits of each of eight rows. Afterwards lane q of them holds row q's 32 bits.
fn items_in_order(rows: u32, lane: u32) -> u32 {
  let a = exchange(rows, 1u, 0x0f0f0f0fu, lane);
  let b = exchange(a, 2u, 0x00ff00ffu, lane);
  return exchange(b, 4u, 0x0000ffffu, lane);
}

fn exchange(word: u32, bit: u32, low: u32, lane: u32) -> u32 {
  let other = subgroupShuffleXor(word, bit);
  let shift = 4u * bit;
  return select((word & low) | ((other & low) << shift), (word & ~low) | ((other >> shift) & low), (lane & bit) != 0u);
}
