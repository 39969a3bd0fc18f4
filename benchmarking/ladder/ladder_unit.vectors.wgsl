// Four neighbouring items a thread in one 16-byte load. Items past the end count as zero.
fn load_unit(unit: u32) -> Unit {
  let first = unit * 4u;
  var items = Unit();
  if (first < params.item_count) {
    items = input[unit];
  }
  let is_in = vec4u(first, first + 1u, first + 2u, first + 3u) < vec4u(params.item_count);
  return select(Unit(), items, is_in);
}

fn unit_sum(items: Unit) -> Item {
  return (items.x + items.y) + (items.z + items.w);
}
