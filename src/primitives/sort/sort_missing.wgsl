// sort_missing: indices of items that no segment holds.
@group(0) @binding(1) var<storage, read_write> indices: array<u32>;

struct MissingParams {
  item_count: u32,
  count_first: u32,
  grid_width: u32,
  grid_height: u32,
}

@group(0) @binding(0) var<uniform> params: MissingParams;

fn run(workgroup: Workgroup, thread: Thread) {
  let item = tile_index(workgroup.id, params.grid_width, params.grid_height) * WORKGROUP_SIZE + thread.index;
  if (item < item_count()) { indices[item] = 0xffffffffu; }
}
