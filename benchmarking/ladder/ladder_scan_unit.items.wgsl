fn store_unit(unit: u32, before: Item, items: Unit) {
  if (unit < params.item_count) {
    output[unit] = before;
  }
}
