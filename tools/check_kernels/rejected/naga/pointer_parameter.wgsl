@group(0) @binding(0) var<storage, read_write> output: array<u32>;

fn first(items: ptr<storage, array<u32>, read_write>) -> u32 {
  return items[0];
}

@compute @workgroup_size(64)
fn main() {
  output[0] = first(&output);
}
