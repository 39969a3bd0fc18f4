const VALUE_SLOTS = TILE_ITEMS;

fn slot(index: u32) -> u32 {
  return index;
}
