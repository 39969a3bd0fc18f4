// bench_copy: copies 16 bytes at a time; the yardstick of the percentages, and the work that raises a GPU's clock.
struct CopyParams {
  unit_count: u32,
  thread_count: u32,
  grid_width: u32,
  grid_height: u32,
}

@group(0) @binding(0) var<uniform> params: CopyParams;
@group(0) @binding(1) var<storage, read> input: array<vec4u>;
@group(0) @binding(2) var<storage, read_write> output: array<vec4u>;

fn run(workgroup: Workgroup, thread: Thread) {
  let first = tile_index(workgroup.id, params.grid_width, params.grid_height) * WORKGROUP_SIZE + thread.index;
  if (first >= params.thread_count) {
    return;
  }
  for (var unit = first; unit < params.unit_count; unit += params.thread_count) {
    output[unit] = input[unit];
  }
}
