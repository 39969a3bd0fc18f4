// The caller's items four at a time; the same memory as `input`.
@group(0) @binding(2) var<storage, read> input_vectors: array<vec4<RawItem>>;

struct Unit {
  items: vec4<RawItem>,
}

fn load_unit(unit: u32, range: Range) -> Unit {
  return Unit(input_vectors[unit]);
}

fn fold_unit(unit: Unit, number: u32, range: Range) -> Accumulator {
  let index = number * 4u - range.row_first + params.index_base;
  return combine(combine(import_value(transform(item_value(unit.items.x), index), index),
                         import_value(transform(item_value(unit.items.y), index + 1u), index + 1u)),
                 combine(import_value(transform(item_value(unit.items.z), index + 2u), index + 2u),
                         import_value(transform(item_value(unit.items.w), index + 3u), index + 3u)));
}
