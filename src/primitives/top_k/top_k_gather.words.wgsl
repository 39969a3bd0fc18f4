// top_k_gather: what belongs to the items of the result follows by index, word by word.
//
// Prelude gives  WORKGROUP_SIZE, VALUE_WORDS
// Parts give     result_count (generated), tile_index (grid)
struct GatherParams {
  result_count: u32,
  count_first: u32,
  indices_first: u32,
  values_first: u32,
  output_first: u32,
  grid_width: u32,
  grid_height: u32,
}

@group(0) @binding(0) var<uniform> params: GatherParams;
@group(0) @binding(1) var<storage, read> indices: array<u32>;
@group(0) @binding(2) var<storage, read> values_in: array<u32>;
@group(0) @binding(3) var<storage, read_write> values_out: array<u32>;

fn run(workgroup: Workgroup, thread: Thread) {
  let group = tile_index(workgroup.id, params.grid_width, params.grid_height);
  let count = result_count();
  // Neighbouring threads take neighbouring words.
  for (var k = 0u; k < VALUE_WORDS; k++) {
    let word = k * WORKGROUP_SIZE + thread.index;
    let item = group * WORKGROUP_SIZE + word / VALUE_WORDS;
    if (item < count) {
      values_out[(params.output_first + item) * VALUE_WORDS + word % VALUE_WORDS] =
          values_in[(params.values_first + indices[params.indices_first + item]) * VALUE_WORDS + word % VALUE_WORDS];
    }
  }
}
