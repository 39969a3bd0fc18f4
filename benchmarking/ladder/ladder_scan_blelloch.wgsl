// ladder_scan_blelloch: Blelloch's scan of one tile in workgroup memory, two items a thread: a tree of sums, then back
// from the root to the leaves. The words that neighbouring threads touch lie 2 x stride apart: where workgroup memory
// has 32 banks, more and more of them meet in one bank, unless slot() spreads them.
@group(0) @binding(2) var<storage, read_write> output: array<Item>;

var<workgroup> values: array<Item, VALUE_SLOTS>;

fn store_item(index: u32, value: Item) {
  if (index < params.item_count) {
    output[index] = value;
  }
}

fn run(workgroup: Workgroup, thread: Thread) {
  let tile = tile_index(workgroup.id, params.grid_width, params.grid_height);
  let first = tile * TILE_ITEMS + thread.index;
  values[slot(thread.index)] = load_unit(first);
  values[slot(thread.index + WORKGROUP_SIZE)] = load_unit(first + WORKGROUP_SIZE);
  for (var stride = 1u; stride < TILE_ITEMS; stride *= 2u) {
    workgroupBarrier();  // the sums of the level below are stored
    let right = (2u * thread.index + 2u) * stride - 1u;
    if (right < TILE_ITEMS) {
      values[slot(right)] += values[slot(right - stride)];
    }
  }
  // The last sum was the first thread's.
  if (thread.index == 0u) {
    if (tile * TILE_ITEMS < params.item_count) {
      finish_tile(tile, values[slot(TILE_ITEMS - 1u)]);
    }
    values[slot(TILE_ITEMS - 1u)] = Item();
  }
  for (var stride = TILE_ITEMS / 2u; stride > 0u; stride /= 2u) {
    workgroupBarrier();  // the prefixes of the level above are stored
    let right = (2u * thread.index + 2u) * stride - 1u;
    if (right < TILE_ITEMS) {
      let left_sum = values[slot(right - stride)];
      let before = values[slot(right)];
      values[slot(right - stride)] = before;
      values[slot(right)] = before + left_sum;
    }
  }
  workgroupBarrier();  // all prefixes are stored
  store_item(first, values[slot(thread.index)]);
  store_item(first + WORKGROUP_SIZE, values[slot(thread.index + WORKGROUP_SIZE)]);
}
