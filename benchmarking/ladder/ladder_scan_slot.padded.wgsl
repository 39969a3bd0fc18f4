// One word of padding after every 32: strides that are powers of two then go through all banks.
const VALUE_SLOTS = TILE_ITEMS + TILE_ITEMS / 32u;

fn slot(index: u32) -> u32 {
  return index + index / 32u;
}
