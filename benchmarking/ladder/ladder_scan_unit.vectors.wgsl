// Words past the end, in the last unit, are overwritten.
fn store_unit(unit: u32, before: Item, items: Unit) {
  if (unit * 4u < params.item_count) {
    let second = before + items.x;
    let third = second + items.y;
    output[unit] = Unit(before, second, third, third + items.z);
  }
}
