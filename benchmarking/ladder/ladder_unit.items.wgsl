// One item a thread. Items past the end count as zero.
fn load_unit(unit: u32) -> Unit {
  if (unit < params.item_count) {
    return input[unit];
  }
  return Unit();
}

fn unit_sum(items: Unit) -> Item {
  return items;
}
