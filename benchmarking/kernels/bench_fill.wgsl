// bench_fill: the shared input generators (benchmarking/input.h). Item i is a hash of i and the seed: all 32 bits of
// it, its upper 24 bits as an f32 in [0, 1), or the hash of the first item of its run of `word` items on average. Or `word`
// everywhere.
struct FillParams {
  item_count: u32,
  index_base: u32,  // index of this range's first item
  seed: u32,
  kind: u32,
  word: u32,
  grid_width: u32,
  grid_height: u32,
}

const FLOATS = 1u;
const RUNS = 2u;
const ONE_WORD = 3u;

@group(0) @binding(0) var<uniform> params: FillParams;
@group(0) @binding(1) var<storage, read_write> output: array<u32>;

// The walk ends: item 0 begins a run, and one item in `word` does.
fn run_key(i: u32) -> u32 {
  var first = i;
  var key = hash(first);
  while (first != 0u && key % params.word != 0u) {
    first -= 1u;
    key = hash(first);
  }
  return key;
}

fn run(workgroup: Workgroup, thread: Thread) {
  let index = tile_index(workgroup.id, params.grid_width, params.grid_height) * WORKGROUP_SIZE + thread.index;
  if (index >= params.item_count) {
    return;
  }
  let i = params.index_base + index;
  var item = hash(i);
  if (params.kind == FLOATS) {
    item = bitcast<u32>(f32(item >> 8u) * 0x1p-24f);
  }
  if (params.kind == RUNS) {
    item = run_key(i);
  }
  if (params.kind == ONE_WORD) {
    item = params.word;
  }
  output[index] = item;
}
