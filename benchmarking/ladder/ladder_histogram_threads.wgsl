// ladder_histogram_threads: counters of a byte for each thread and bin in workgroup memory, without atomics; every 255
// samples they are added up. WORDS words of four bins, a column a thread.
const WORDS = BIN_COUNT / 4u;

var<workgroup> counters: array<u32, WORDS * WORKGROUP_SIZE>;

fn run(workgroup: Workgroup, thread: Thread) {
  let first = tile_index(workgroup.id, params.grid_width, params.grid_height) * params.chunk_items;
  for (var word = 0u; word < WORDS; word++) {
    counters[word * WORKGROUP_SIZE + thread.index] = 0u;
  }
  for (var begin = 0u; begin < params.chunk_items; begin += 255u * WORKGROUP_SIZE) {
    for (var k = 0u; k < 255u; k++) {
      let i = begin + k * WORKGROUP_SIZE + thread.index;
      if (i < params.chunk_items && first + i < params.item_count) {
        let bin = bin_of(input[first + i]);
        counters[(bin / 4u) * WORKGROUP_SIZE + thread.index] += 1u << ((bin % 4u) * 8u);
      }
    }
    workgroupBarrier();  // all have counted
    for (var word = thread.index; word < WORDS; word += WORKGROUP_SIZE) {
      var sums = vec4u();
      for (var column = 0u; column < WORKGROUP_SIZE; column++) {
        // Neighbouring threads begin in neighbouring banks.
        let place = word * WORKGROUP_SIZE + (column + word) % WORKGROUP_SIZE;
        let bytes = counters[place];
        counters[place] = 0u;
        sums += vec4u(bytes, bytes >> 8u, bytes >> 16u, bytes >> 24u) & vec4u(0xffu);
      }
      for (var k = 0u; k < 4u; k++) {
        if (sums[k] != 0u) { atomicAdd(&output[word * 4u + k], sums[k]); }
      }
    }
    workgroupBarrier();  // all are zero again
  }
}
