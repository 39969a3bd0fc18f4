// spmv_splits: cuts the merge of row ends with entry numbers into tiles of TILE_ITEMS. What is before a tile is so many
// rows' ends, and entries. A record for each tile, and one for what is behind the last: the row at which it begins; the
// first and the last tile of that row if tiles before have entries of it, else this tile twice. And the words in which
// parts of rows meet hold none.
//
// Prelude gives  WORKGROUP_SIZE, TILE_ITEMS, RECORD_WORDS, NO_PART
// Parts give     tile_index (grid)
@group(0) @binding(1) var<storage, read> row_offsets: array<u32>;
@group(0) @binding(5) var<storage, read_write> tile_words: array<u32>;

// Eighths of a range, without overflow.
fn probe_offset(size: u32, eighths: u32) -> u32 { return size / 8u * eighths + size % 8u * eighths / 8u; }

fn run(workgroup: Workgroup, thread: Thread) {
  let tile = tile_index(workgroup.id, params.grid_width, params.grid_height) * WORKGROUP_SIZE + thread.index;
  if (tile > params.tile_count) { return; }
  let item = min(tile * TILE_ITEMS, params.row_count + params.entry_count);
  var low = item - min(item, params.entry_count);
  var high = min(item, params.row_count);
  // Seven rows at a time, whose loads are on their way together: how many of them end before the item?
  while (low < high) {
    let size = high - low;
    var before = 0u;
    for (var probe = 1u; probe < 8u; probe++) {
      let row = low + probe_offset(size, probe);
      before += u32(row_offsets[params.offsets_first + row + 1u] < item - row);
    }
    let next_high = select(high, low + probe_offset(size, before + 1u), before < 7u);
    low = select(low, low + probe_offset(size, before) + 1u, before > 0u);
    high = next_high;
  }
  var tiles = vec2u(tile);
  if (low < params.row_count) {
    let begin = low + row_offsets[params.offsets_first + low];
    if (begin < item) { tiles = vec2u(begin, low + row_offsets[params.offsets_first + low + 1u]) / TILE_ITEMS; }
  }
  let record = params.tiles_first + RECORD_WORDS * tile;
  tile_words[record] = low;
  tile_words[record + 1u] = tiles.x;
  tile_words[record + 2u] = tiles.y;
  tile_words[params.tiles_first + RECORD_WORDS * (params.tile_count + 1u) + tile] = NO_PART;
}
