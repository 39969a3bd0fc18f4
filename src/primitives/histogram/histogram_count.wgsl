// histogram_count: each workgroup counts one chunk of the samples, for one window of the bins.
//
// Prelude gives  UNIT_SAMPLES, TILE_SAMPLES, WORD_SAMPLES
// Parts give     tile_index (grid), sample_count (histogram_extent.*), begin_counting, end_tile, end_counting
//                (histogram_add.*), count_full_tile, count_guarded_word (generated)
//
// A cell is a bin of a counted channel. Positions count samples from the beginning of the bound range of the input.

struct HistogramParams {
  sample_count: u32,   // of this range of the input
  sample_base: u32,    // samples before this range
  chunk_tiles: u32,
  chunk_count: u32,
  window_count: u32,
  window_cells: u32,
  cell_count: u32,
  channel_cells: u32,
  bin_count: u32,      // that samples can reach
  first_key: u32,      // least key that is counted
  key_span: u32,       // to the greatest
  shift: u32,
  lower: f32,
  scale: f32,          // bins in a unit of the samples
  bias: f32,
  position_bits: u32,  // bits of the position of the first edge
  fraction_mask: u32,  // the bits below a bin
  near: u32,           // fractions up to here may belong to the bin before
  reach: u32,          // bins by which a position may be wrong
  input_first: u32,
  weights_first: u32,
  edges_first: u32,
  count_first: u32,
  output_first: u32,
  grid_width: u32,
  grid_height: u32,
}

@group(0) @binding(0) var<uniform> params: HistogramParams;
@group(0) @binding(1) var<storage, read> input: array<u32>;

const NO_CELL = 0xffffffffu;

fn run(workgroup: Workgroup, thread: Thread) {
  let number = tile_index(workgroup.id, params.grid_width, params.grid_height);
  // Windows of the same chunk run side by side, so that its samples are read from memory once.
  let chunk = number / params.window_count;
  begin_counting((number % params.window_count) * params.window_cells, thread);
  let begin = params.input_first;
  let end = begin + sample_count();
  let tile_count = select(0u, params.chunk_tiles, chunk < params.chunk_count);
  let origin = begin / UNIT_SAMPLES * UNIT_SAMPLES;
  for (var i = 0u; i < tile_count; i++) {
    let tile = origin + (chunk * params.chunk_tiles + i) * TILE_SAMPLES;
    if (tile >= end) { break; }
    if (tile >= begin && end - tile >= TILE_SAMPLES) {
      count_full_tile(tile / UNIT_SAMPLES + thread.index);
    } else {
      // The first or last tile: sample by sample. A range may begin or end inside a word.
      let word_end = min(tile + TILE_SAMPLES, end + WORD_SAMPLES - 1u) / WORD_SAMPLES;
      for (var word = tile / WORD_SAMPLES + thread.index; word < word_end; word += WORKGROUP_SIZE) {
        count_guarded_word(word, begin, end);
      }
    }
    end_tile();
  }
  end_counting(thread);
}
