// sort_count: how often each digit occurs in each chunk, a run of tiles. First of the three passes a digit that need
// nothing but barriers.
//
// Prelude gives  WORKGROUP_SIZE, TILE_ITEMS, DIGITS
// Parts give     run, partial_at (sort_chunks.*), load_keys (generated)
@group(0) @binding(5) var<storage, read_write> partials: array<u32>;

var<workgroup> chunk_counts: array<atomic<u32>, DIGITS>;

fn take_chunk(chunk: u32, begin: u32, end: u32, workgroup: Workgroup, thread: Thread) {
  let digit = digit_of_pass();
  for (var d = thread.index; d < DIGITS; d += WORKGROUP_SIZE) { atomicStore(&chunk_counts[d], 0u); }
  workgroupBarrier();  // the counts are zero
  var tile_first = begin;
  for (; end - tile_first >= TILE_ITEMS; tile_first += TILE_ITEMS) {
    count_keys(load_keys(thread.index, WORKGROUP_SIZE, tile_first, TILE_ITEMS), digit);
  }
  for (var i = tile_first + thread.index; i < end; i += WORKGROUP_SIZE) {
    atomicAdd(&chunk_counts[digit_of(keys_in[params.keys_first + i], digit)], 1u);
  }
  workgroupBarrier();  // all keys are counted
  for (var d = thread.index; d < DIGITS; d += WORKGROUP_SIZE) {
    partials[partial_at(d, chunk)] = atomicLoad(&chunk_counts[d]);
  }
}
