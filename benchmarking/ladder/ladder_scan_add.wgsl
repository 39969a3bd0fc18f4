// ladder_scan_add: adds to each item what the tiles before its own add up to.
@group(0) @binding(1) var<storage, read_write> offsets: array<Item>;
@group(0) @binding(2) var<storage, read_write> output: array<Unit>;

fn run(workgroup: Workgroup, thread: Thread) {
  let index = tile_index(workgroup.id, params.grid_width, params.grid_height);
  let unit = index * WORKGROUP_SIZE + thread.index;
  if (unit * UNIT_ITEMS < params.item_count) {
    output[unit] = output[unit] + offsets[unit * UNIT_ITEMS / TILE_ITEMS];
  }
}
