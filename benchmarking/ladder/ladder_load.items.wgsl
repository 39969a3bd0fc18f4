// One item a thread. Threads past the end get zero.
fn load_unit(unit: u32) -> Item {
  if (unit < params.item_count) {
    return input[unit];
  }
  return Item();
}
