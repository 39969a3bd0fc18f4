// Where each item of a tile came from, as a place of the stage before: two of a thread's items a word.
//
// Prelude gives  WORKGROUP_SIZE, ITEMS_PER_THREAD, SOURCE_WORDS
var<workgroup> stage_sources: array<u32, WORKGROUP_SIZE * SOURCE_WORDS>;

fn source_of(place: u32) -> u32 {
  let own = place % ITEMS_PER_THREAD;
  return (stage_sources[place / ITEMS_PER_THREAD * SOURCE_WORDS + own / 2u] >> (own % 2u * 16u)) & 0xffffu;
}
