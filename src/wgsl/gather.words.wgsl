// Items of whole words follow by index, a word a thread and step.
//
// Prelude gives  WORKGROUP_SIZE, VALUE_WORDS
// Parts give     item_count (generated), params and arrays (gather_params), tile_index (grid)
fn run(workgroup: Workgroup, thread: Thread) {
  let group = tile_index(workgroup.id, params.grid_width, params.grid_height);
  let count = item_count();
  // Neighbouring threads take neighbouring words.
  for (var k = 0u; k < VALUE_WORDS; k++) {
    let word = k * WORKGROUP_SIZE + thread.index;
    let item = group * WORKGROUP_SIZE + word / VALUE_WORDS;
    if (item < count) {
      let index = indices[params.indices_first + item];
      if (index < params.source_count) {
        values_out[(params.output_values_first + item) * VALUE_WORDS + word % VALUE_WORDS] =
            values_in[(params.values_first + index) * VALUE_WORDS + word % VALUE_WORDS];
      }
    }
  }
}
