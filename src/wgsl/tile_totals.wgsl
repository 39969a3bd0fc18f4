// tile_totals: each workgroup folds one chunk of a row, a run of tiles, to one value in item order.
//
// Prelude gives  Accumulator, UNIT_ITEMS, TILE_ITEMS
// Parts give     tile_index (grid), row_range (tile_range.*), row_length, row_count (tile_extent.*),
//                add_tile, finish_chunk (tile_sum.*)
@group(0) @binding(11) var<storage, read_write> partials: array<Accumulator>;

var<workgroup> shared_extent: vec2u;

fn run(workgroup: Workgroup, thread: Thread) {
  let chunk = tile_index(workgroup.id, params.grid_width, params.grid_height);
  // Through workgroup memory: what a count in a buffer decides must be uniform for the compiler, too.
  if (thread.index == 0u) { shared_extent = vec2u(row_length(), row_count()); }
  let extent = workgroupUniformLoad(&shared_extent);
  let row = chunk / params.chunks_per_row;
  if (row >= extent.y) { return; }
  let range = row_range(row, extent.x);
  let first_tile = chunk % params.chunks_per_row * params.chunk_tiles;
  let tile_count = count_tiles(range);
  if (first_tile >= tile_count) { return; }
  var sum = identity();
  for (var tile = first_tile; tile < min(first_tile + params.chunk_tiles, tile_count); tile++) {
    sum = add_tile(sum, range.origin + tile * TILE_ITEMS, range, thread, workgroup);
  }
  sum = finish_chunk(sum, thread, workgroup);
  if (thread.index == 0u) {
    partials[chunk] = sum;
  }
}
