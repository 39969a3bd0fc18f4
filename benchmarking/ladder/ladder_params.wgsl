// Params of the ladder's kernels, the same for every step.
struct LadderParams {
  item_count: u32,   // of this pass
  grid_width: u32,
  grid_height: u32,
}

@group(0) @binding(0) var<uniform> params: LadderParams;
