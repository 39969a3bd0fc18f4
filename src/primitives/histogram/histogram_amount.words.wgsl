// Each sample counts as its item's weight, a u32.
@group(0) @binding(4) var<storage, read> weights: array<u32>;

fn amount_of(position: u32) -> Amount {
  return weights[params.weights_first + (position - params.input_first) / CHANNELS];
}
