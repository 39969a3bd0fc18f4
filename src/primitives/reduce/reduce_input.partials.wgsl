// Input: values of an earlier pass. Scratch is bound read_write throughout.
@group(0) @binding(1) var<storage, read_write> input: array<Accumulator>;

fn load_item(position: u32, range: Range) -> Accumulator {
  return input[position];
}
