// sort_gather: values that are too large to travel with their keys follow at the end, by index.
//
// Prelude gives  WORKGROUP_SIZE, VALUE_WORDS
// Parts give     item_count (sort_extent.*), tile_index (grid)
struct GatherParams {
  item_count: u32,
  indices_first: u32,
  values_first: u32,
  output_values_first: u32,
  count_first: u32,
  grid_width: u32,
  grid_height: u32,
}

@group(0) @binding(0) var<uniform> params: GatherParams;
@group(0) @binding(1) var<storage, read> indices: array<u32>;
@group(0) @binding(2) var<storage, read> values_in: array<u32>;
@group(0) @binding(3) var<storage, read_write> values_out: array<u32>;

fn run(workgroup: Workgroup, thread: Thread) {
  let group = tile_index(workgroup.id, params.grid_width, params.grid_height);
  // Neighbouring threads take neighbouring words.
  for (var k = 0u; k < VALUE_WORDS; k++) {
    let word = k * WORKGROUP_SIZE + thread.index;
    let item = group * WORKGROUP_SIZE + word / VALUE_WORDS;
    if (item < item_count()) {
      let index = indices[params.indices_first + item];
      // No index, no value: the item lies in no segment.
      if (index < params.item_count) {
        values_out[(params.output_values_first + item) * VALUE_WORDS + word % VALUE_WORDS] =
            values_in[(params.values_first + index) * VALUE_WORDS + word % VALUE_WORDS];
      }
    }
  }
}
