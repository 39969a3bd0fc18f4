// Input: the caller's items of two arrays.
@group(0) @binding(1) var<storage, read> input: array<RawItem>;
@group(0) @binding(3) var<storage, read> second_input: array<RawSecond>;

fn load_item(position: u32, range: Range) -> Accumulator {
  let offset = position - range.row_first;
  let index = offset + params.index_base;
  let second = second_input[offset + range.second_row_first];
  return import_value(transform(item_value(input[position]), second_value(second), index), index);
}
