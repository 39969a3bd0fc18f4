// Tiles that a row takes.
fn count_tiles(range: Range) -> u32 {
  return select((range.end - range.origin + TILE_ITEMS - 1u) / TILE_ITEMS, 0u, range.begin == range.end);
}

// What store_tile is told about the items before a thread's own.
struct Prefix {
  tile: Accumulator,      // fold of everything before the tile
  subgroup: Accumulator,  // then of the subgroups before in the tile
  total: Accumulator,     // of the tile itself
}
