// merge_sort_gather: values that are too large to travel with their keys follow at the end, by index. Neighbouring
// threads take neighbouring words.
//
// Prelude gives  WORKGROUP_SIZE, VALUE_WORDS
// Parts give     range_counts (generated), merge_params, tile_index (grid)
@group(0) @binding(1) var<storage, read> indices: array<u32>;
@group(0) @binding(2) var<storage, read> values_in: array<u32>;
@group(0) @binding(3) var<storage, read_write> values_out: array<u32>;

fn run(workgroup: Workgroup, thread: Thread) {
  let group = tile_index(workgroup.id, params.grid_width, params.grid_height);
  let count = range_counts().x;
  for (var k = 0u; k < VALUE_WORDS; k++) {
    let word = k * WORKGROUP_SIZE + thread.index;
    let item = group * WORKGROUP_SIZE + word / VALUE_WORDS;
    if (item < count) {
      values_out[(params.output_values_first + item) * VALUE_WORDS + word % VALUE_WORDS] =
          values_in[(params.left_values_first + indices[params.left_keys_first + item]) * VALUE_WORDS +
                    word % VALUE_WORDS];
    }
  }
}
