// sort_field: one field of keys that are structs, in the order that the fields after it have given.
//
// Prelude gives  WORKGROUP_SIZE, KEY_WORDS, FIELD_WORD, FIELD_WORDS
// Parts give     item_count (sort_extent.*), key_at (sort_field_order.*), tile_index (grid)
struct FieldParams {
  item_count: u32,
  keys_first: u32,
  count_first: u32,
  grid_width: u32,
  grid_height: u32,
}

@group(0) @binding(0) var<uniform> params: FieldParams;
@group(0) @binding(1) var<storage, read> keys_in: array<u32>;
@group(0) @binding(2) var<storage, read_write> field_out: array<u32>;

fn run(workgroup: Workgroup, thread: Thread) {
  let item = tile_index(workgroup.id, params.grid_width, params.grid_height) * WORKGROUP_SIZE + thread.index;
  if (item >= item_count()) { return; }
  let word = (params.keys_first + key_at(item)) * KEY_WORDS + FIELD_WORD;
  for (var k = 0u; k < FIELD_WORDS; k++) { field_out[item * FIELD_WORDS + k] = keys_in[word + k]; }
}
