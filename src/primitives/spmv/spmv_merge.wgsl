// spmv_merge: one tile of the merge of row ends with entry numbers (Merrill and Garland 2016). The products of a tile go
// through workgroup memory. Short rows are added up by a thread each; the others are queued, and groups of LANES threads
// take them in turn: so a tile takes about as long whatever its rows are. What a tile has of a row that other tiles have
// parts of, too, goes up a tree: where two neighbours meet, the second to come goes on with the sum of both, and the last
// one stores the row. Nobody waits, and every row is added up in one order.
//
// Prelude gives  WORKGROUP_SIZE, TILE_ITEMS, RECORD_WORDS, NO_PART, LANES, VECTORS, SHORT_ROW, and LONG_ROWS: as many
//                as a tile can hold of those that are longer
// Parts give     load_products, row_of, store_y (generated), fold_lanes, thread_rank (spmv_lanes.*), tile_index (grid)
@group(0) @binding(1) var<storage, read> row_offsets: array<u32>;
@group(0) @binding(5) var<storage, read_write> tile_words: array<atomic<u32>>;

// The ends of the rows, counted from the tile's first entry, behind a 0 and before the end of what is left; then the
// products.
var<workgroup> stage: array<u32, TILE_ITEMS + 2u>;
var<workgroup> long_rows: array<u32, LONG_ROWS>;
var<workgroup> queue_count: atomic<u32>;
var<workgroup> queued: u32;

fn product(place: u32) -> f32 { return bitcast<f32>(stage[place]); }

// Of the products at `begin` and every step-th behind it.
fn add_products(begin: u32, end: u32, step: u32) -> f32 {
  var sum = 0.0;
  for (var round = 0u; round < TILE_ITEMS; round++) {
    let at = begin + round * 4u * step;
    if (at >= end) { break; }
    let last = end - 1u;
    let second = product(min(at + step, last));
    let third = product(min(at + 2u * step, last));
    let fourth = product(min(at + 3u * step, last));
    sum += product(at) + select(0.0, second, at + step < end);
    sum += select(0.0, third, at + 2u * step < end) + select(0.0, fourth, at + 3u * step < end);
  }
  return sum;
}

fn store_row(row: u32, sum: f32) { store_y(row_of(row) * VECTORS + params.vector, sum); }

fn load_word(word: u32) -> u32 { return atomicLoad(&tile_words[params.tiles_first + word]); }

// `record`: that of the tile which the row enters.
fn join_parts(number: u32, row: u32, record: u32, part: f32) {
  let first = load_word(RECORD_WORDS * record + 1u);
  let count = load_word(RECORD_WORDS * record + 2u) - first + 1u;
  let words = params.tiles_first + RECORD_WORDS * (params.tile_count + 1u) + first;
  var at = number - first;
  var sum = part;
  for (var half = 1u; half < count; half *= 2u) {
    let meeting = at | half;
    at &= ~half;
    if (meeting < count) {
      let bits = bitcast<u32>(sum);
      let other = atomicExchange(&tile_words[words + meeting], select(bits, 0x7fc00000u, bits == NO_PART));
      if (other == NO_PART) { return; }
      // The word is as it was, for the next product.
      atomicStore(&tile_words[words + meeting], NO_PART);
      sum += bitcast<f32>(other);
    }
  }
  store_row(row, sum);
}

fn run(workgroup: Workgroup, thread: Thread) {
  let number = tile_index(workgroup.id, params.grid_width, params.grid_height);
  if (number >= params.tile_count) { return; }
  let begin = number * TILE_ITEMS;
  let items = min(TILE_ITEMS, params.row_count + params.entry_count - begin);
  let first_row = load_word(RECORD_WORDS * number);
  let rows = min(load_word(RECORD_WORDS * (number + 1u)) - first_row, items);
  let is_entered = load_word(RECORD_WORDS * number + 1u) < number;
  let entries = items - rows;
  let first_entry = begin - first_row;
  let first_product = rows + 2u;
  let rank = thread_rank(thread, workgroup);
  let own_end = row_offsets[params.offsets_first + min(first_row + rank + 1u, params.row_count)];
  load_products(first_entry, entries, first_product, rank);
  if (rank < rows) { stage[rank + 1u] = own_end - first_entry; }
  for (var row = rank + WORKGROUP_SIZE; row < rows; row += WORKGROUP_SIZE) {
    stage[row + 1u] = row_offsets[params.offsets_first + first_row + row + 1u] - first_entry;
  }
  if (thread.index == 0u) {
    stage[0] = 0u;
    stage[rows + 1u] = entries;
  }
  workgroupBarrier();  // row ends and products are stored
  var head = 0.0;
  var tail = 0.0;
  var has_head = false;
  var has_tail = false;
  for (var round = 0u; round < TILE_ITEMS / WORKGROUP_SIZE + 1u; round++) {
    let row = rank + round * WORKGROUP_SIZE;
    if (row > rows) { break; }
    let row_begin = stage[row];
    let row_end = stage[row + 1u];
    if (row_end > row_begin + SHORT_ROW) {
      // Rows are apart from each other: the order of the queue does not matter.
      long_rows[min(atomicAdd(&queue_count, 1u), LONG_ROWS - 1u)] = row;
    } else {
      let sum = add_products(first_product + row_begin, first_product + row_end, 1u);
      if (row == rows) {
        tail = sum;
        has_tail = row_begin < row_end;
      } else if (row == 0u && is_entered) {
        head = sum;
        has_head = true;
      } else {
        store_row(first_row + row, sum);
      }
    }
  }
  workgroupBarrier();  // the queue is complete
  if (thread.index == 0u) { queued = min(atomicLoad(&queue_count), LONG_ROWS); }
  let count = workgroupUniformLoad(&queued);
  for (var round = 0u; round < LONG_ROWS; round++) {
    let first = round * (WORKGROUP_SIZE / LANES);
    if (first >= count) { break; }
    let place = first + rank / LANES;
    let row = long_rows[min(place, LONG_ROWS - 1u)];
    var sum = 0.0;
    if (place < count) {
      sum = add_products(first_product + stage[row] + rank % LANES, first_product + stage[row + 1u], LANES);
    }
    sum = fold_lanes(sum, rank, workgroup);
    if (place < count && rank % LANES == 0u) {
      if (row == rows) {
        tail = sum;
        has_tail = true;
      } else if (row == 0u && is_entered) {
        head = sum;
        has_head = true;
      } else {
        store_row(first_row + row, sum);
      }
    }
  }
  if (has_head) { join_parts(number, first_row, number, head); }
  if (has_tail) { join_parts(number, first_row + rows, number + 1u, tail); }
}
