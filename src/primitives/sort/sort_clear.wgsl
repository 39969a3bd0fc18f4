// sort_clear: zeroes the digit counts, the tickets and the records of a sort.
struct ClearParams {
  count_words: u32,
  record_words: u32,
  grid_width: u32,
  grid_height: u32,
}

@group(0) @binding(0) var<uniform> params: ClearParams;
@group(0) @binding(1) var<storage, read_write> counts: array<u32>;
@group(0) @binding(2) var<storage, read_write> records: array<u32>;

const WORDS_PER_THREAD = 8u;

fn run(workgroup: Workgroup, thread: Thread) {
  let group = tile_index(workgroup.id, params.grid_width, params.grid_height);
  let first = group * WORKGROUP_SIZE * WORDS_PER_THREAD + thread.index;
  for (var k = 0u; k < WORDS_PER_THREAD; k++) {
    let word = first + k * WORKGROUP_SIZE;
    if (word < params.record_words) { records[word] = 0u; }
    if (word < params.count_words) { counts[word] = 0u; }
  }
}
