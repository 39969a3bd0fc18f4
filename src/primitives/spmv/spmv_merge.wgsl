// spmv_merge: one tile of the merge of row ends with entry numbers (Merrill and Garland 2016). The products of a tile go
// through workgroup memory. Short rows are added up by a thread each; the others are queued, and groups of LANES threads
// take them in turn, or for the longest the whole workgroup: so a tile takes about as long whatever its rows are. What the
// tile has of a row that ends in a later one goes to spmv_carries.
//
// Prelude gives  WORKGROUP_SIZE, TILE_ITEMS, LANES, VECTORS, SHORT_ROW, MEDIUM_ROW, and MEDIUM_ROWS and LONG_ROWS: as
//                many as a tile can hold of those that are longer
// Parts give     load_products, row_of, store_y (generated), fold_lanes, thread_rank (spmv_lanes.*), tile_index (grid)
@group(0) @binding(1) var<storage, read> row_offsets: array<u32>;
@group(0) @binding(5) var<storage, read_write> tile_words: array<u32>;

struct Tile {
  number: u32,
  row_begin: u32,
  rows: u32,     // that end here
  entries: u32,
}

// First the ends of the rows, counted from the tile's first entry, then the products.
var<workgroup> stage: array<u32, TILE_ITEMS>;
var<workgroup> medium_rows: array<u32, MEDIUM_ROWS>;
var<workgroup> long_rows: array<u32, LONG_ROWS>;
var<workgroup> queue_counts: array<atomic<u32>, 2>;
var<workgroup> queued: vec2u;
var<workgroup> group_sums: array<f32, WORKGROUP_SIZE / LANES>;

// Row `rows` is what is left.
fn row_begin(tile: Tile, row: u32) -> u32 {
  if (row == 0u) { return 0u; }
  return stage[row - 1u];
}
fn row_end(tile: Tile, row: u32) -> u32 {
  if (row == tile.rows) { return tile.entries; }
  return stage[row];
}
fn product(tile: Tile, entry: u32) -> f32 { return bitcast<f32>(stage[tile.rows + entry]); }

// Of every step-th product.
fn sum_of_row(tile: Tile, row: u32, lane: u32, step: u32) -> f32 {
  let row_last = min(row_end(tile, row), tile.entries);
  var sum = 0.0;
  for (var entry = row_begin(tile, row) + lane; entry < row_last; entry += step) { sum += product(tile, entry); }
  return sum;
}

fn store_row(tile: Tile, row: u32, sum: f32) {
  if (row < tile.rows) {
    store_y(row_of(tile.row_begin + row) * VECTORS + params.vector, sum);
  } else {
    tile_words[params.tiles_first + params.tile_count + 1u + tile.number] = bitcast<u32>(sum);
  }
}

fn run(workgroup: Workgroup, thread: Thread) {
  let number = tile_index(workgroup.id, params.grid_width, params.grid_height);
  if (number >= params.tile_count) { return; }
  let begin = number * TILE_ITEMS;
  let items = min(TILE_ITEMS, params.row_count + params.entry_count - begin);
  let first_row = tile_words[params.tiles_first + number];
  let rows = min(tile_words[params.tiles_first + number + 1u] - first_row, items);
  let tile = Tile(number, first_row, rows, items - rows);
  let first_entry = begin - first_row;
  let rank = thread_rank(thread, workgroup);
  load_products(first_entry, tile.entries, rows, rank);
  for (var row = rank; row < rows; row += WORKGROUP_SIZE) {
    stage[row] = row_offsets[params.offsets_first + first_row + row + 1u] - first_entry;
  }
  workgroupBarrier();  // row ends and products are stored
  for (var row = rank; row <= rows; row += WORKGROUP_SIZE) {
    let row_first = row_begin(tile, row);
    let row_last = min(row_end(tile, row), tile.entries);
    // Rows are apart from each other: the order of the queues does not matter.
    if (row_last > row_first + MEDIUM_ROW) {
      long_rows[min(atomicAdd(&queue_counts[1], 1u), LONG_ROWS - 1u)] = row;
    } else if (row_last > row_first + SHORT_ROW) {
      medium_rows[min(atomicAdd(&queue_counts[0], 1u), MEDIUM_ROWS - 1u)] = row;
    } else {
      var sum = 0.0;
      for (var entry = row_first; entry < row_last; entry++) { sum += product(tile, entry); }
      store_row(tile, row, sum);
    }
  }
  workgroupBarrier();  // the queues are complete
  if (thread.index == 0u) {
    queued = min(vec2u(atomicLoad(&queue_counts[0]), atomicLoad(&queue_counts[1])), vec2u(MEDIUM_ROWS, LONG_ROWS));
  }
  let counts = workgroupUniformLoad(&queued);
  for (var first = 0u; first < counts.x; first += WORKGROUP_SIZE / LANES) {
    let place = first + rank / LANES;
    let is_real = place < counts.x;
    let row = medium_rows[min(place, MEDIUM_ROWS - 1u)];
    var sum = 0.0;
    if (is_real) { sum = sum_of_row(tile, row, rank % LANES, LANES); }
    sum = fold_lanes(sum, rank, workgroup);
    if (is_real && rank % LANES == 0u) { store_row(tile, row, sum); }
  }
  for (var place = 0u; place < counts.y; place++) {
    let row = long_rows[place];
    let part = fold_lanes(sum_of_row(tile, row, rank, WORKGROUP_SIZE), rank, workgroup);
    if (rank % LANES == 0u) { group_sums[rank / LANES] = part; }
    workgroupBarrier();  // one sum a group is stored
    var sum = 0.0;
    if (rank < LANES) {
      for (var group = rank; group < WORKGROUP_SIZE / LANES; group += LANES) { sum += group_sums[group]; }
    }
    sum = fold_lanes(sum, rank, workgroup);
    if (rank == 0u) { store_row(tile, row, sum); }
    workgroupBarrier();  // the sums have been read
  }
}
