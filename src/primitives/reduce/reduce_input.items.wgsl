// Input: the caller's items.
@group(0) @binding(1) var<storage, read> input: array<RawItem>;

fn load_item(position: u32, range: Range) -> Accumulator {
  let index = position - range.row_first + params.index_base;
  return import_value(transform(item_value(input[position]), index), index);
}
