// ladder_scan_tile: scans one tile, a unit a thread. How threads find the sum of those before them is a part of its
// own.
@group(0) @binding(2) var<storage, read_write> output: array<Unit>;

struct WorkgroupScan {
  before: Item,  // sum of the values of the threads before
  total: Item,   // of all threads
}

fn run(workgroup: Workgroup, thread: Thread) {
  let tile = tile_index(workgroup.id, params.grid_width, params.grid_height);
  let unit = tile * WORKGROUP_SIZE + thread_rank(thread, workgroup);
  let items = load_unit(unit);
  let scan = scan_workgroup(unit_sum(items), thread, workgroup);
  if (tile * TILE_ITEMS < params.item_count) {
    store_unit(unit, tile_offset(tile) + scan.before, items);
    if (thread.index == 0u) {
      finish_tile(tile, scan.total);
    }
  }
}
