// The caller's items of two arrays, four at a time. The planner sees to it that both begin alike modulo 4.
@group(0) @binding(2) var<storage, read> input_vectors: array<vec4<RawItem>>;
@group(0) @binding(4) var<storage, read> second_vectors: array<vec4<RawSecond>>;

struct Unit {
  items: vec4<RawItem>,
  seconds: vec4<RawSecond>,
}

fn load_unit(unit: u32, range: Range) -> Unit {
  return Unit(input_vectors[unit], second_vectors[(unit * 4u - range.row_first + range.second_row_first) / 4u]);
}

fn fold_unit(unit: Unit, number: u32, range: Range) -> Accumulator {
  let index = number * 4u - range.row_first + params.index_base;
  return combine(
    combine(import_value(transform(item_value(unit.items.x), second_value(unit.seconds.x), index), index),
            import_value(transform(item_value(unit.items.y), second_value(unit.seconds.y), index + 1u), index + 1u)),
    combine(import_value(transform(item_value(unit.items.z), second_value(unit.seconds.z), index + 2u), index + 2u),
            import_value(transform(item_value(unit.items.w), second_value(unit.seconds.w), index + 3u), index + 3u)));
}
