// spmv_splits: cuts the merge of row ends with entry numbers into tiles of TILE_ITEMS: for each tile the row at which it
// begins. What is before a tile is that many rows' ends, and entries.
//
// Prelude gives  WORKGROUP_SIZE, TILE_ITEMS
// Parts give     tile_index (grid)
@group(0) @binding(1) var<storage, read> row_offsets: array<u32>;
@group(0) @binding(5) var<storage, read_write> tile_words: array<u32>;

// Eighths of a range, without overflow.
fn probe_offset(size: u32, eighths: u32) -> u32 { return size / 8u * eighths + size % 8u * eighths / 8u; }

fn run(workgroup: Workgroup, thread: Thread) {
  let tile = tile_index(workgroup.id, params.grid_width, params.grid_height) * WORKGROUP_SIZE + thread.index;
  if (tile > params.tile_count) { return; }
  let diagonal = min(tile * TILE_ITEMS, params.row_count + params.entry_count);
  var low = diagonal - min(diagonal, params.entry_count);
  var high = min(diagonal, params.row_count);
  // Seven rows at a time, whose loads are on their way together: how many of them end before the diagonal?
  while (low < high) {
    let size = high - low;
    var before = 0u;
    for (var probe = 1u; probe < 8u; probe++) {
      let row = low + probe_offset(size, probe);
      before += u32(row_offsets[params.offsets_first + row + 1u] < diagonal - row);
    }
    let next_high = select(high, low + probe_offset(size, before + 1u), before < 7u);
    low = select(low, low + probe_offset(size, before) + 1u, before > 0u);
    high = next_high;
  }
  tile_words[params.tiles_first + tile] = low;
}
