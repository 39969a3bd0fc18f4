// histogram_clear: words of 0, CLEAR_WORDS a thread.
struct ClearParams {
  word_count: u32,
  output_first: u32,
  grid_width: u32,
  grid_height: u32,
}

@group(0) @binding(0) var<uniform> params: ClearParams;
@group(0) @binding(5) var<storage, read_write> output: array<u32>;

fn run(workgroup: Workgroup, thread: Thread) {
  let first = tile_index(workgroup.id, params.grid_width, params.grid_height) * WORKGROUP_SIZE * CLEAR_WORDS;
  for (var i = 0u; i < CLEAR_WORDS; i++) {
    let word = first + i * WORKGROUP_SIZE + thread.index;
    if (word < params.word_count) { output[params.output_first + word] = 0u; }
  }
}
