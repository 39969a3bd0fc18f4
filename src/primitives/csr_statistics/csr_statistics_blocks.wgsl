// csr_statistics_blocks: the blocks of each block row. A workgroup takes some chunks of entries, of each a thread ROUNDS
// in a row, so that rows are seldom searched for; the first entry of a block counts it. Counts go through workgroup
// memory, as far as block rows are near the workgroup's first.
//
// Prelude gives  WORKGROUP_SIZE, ROUNDS, NEAR_ROWS
// Parts give     params (csr_statistics_params), start_at (generated), bound_starts, find_start (sparse_search),
//                block_of, is_first_row_of_block (sparse_blocks), tile_index (grid)
@group(0) @binding(1) var<storage, read_write> statistics: array<u32>;
@group(0) @binding(2) var<storage, read_write> block_counters: array<atomic<u32>>;
@group(0) @binding(3) var<storage, read> columns: array<u32>;

var<workgroup> near_counts: array<atomic<u32>, NEAR_ROWS>;
var<workgroup> shared_is_out: u32;

fn column_at(entry: u32) -> u32 { return columns[params.columns_first + entry]; }
fn block_size() -> u32 { return params.block_size; }

fn lesser_bytes(least: f32, number: u32, bytes_of_width: f32) -> f32 {
  let width = statistics[params.statistics_first + BLOCK_WIDTHS + number];
  return select(min(least, f32(width) * bytes_of_width), least, width == 0u);
}

// Of the sizes that are counted already.
fn least_bytes() -> f32 {
  var least = lesser_bytes(1e38, 0u, params.width_bytes_2);
  least = lesser_bytes(least, 1u, params.width_bytes_3);
  least = lesser_bytes(least, 2u, params.width_bytes_4);
  least = lesser_bytes(least, 3u, params.width_bytes_8);
  return lesser_bytes(least, 4u, params.width_bytes_16);
}

fn add_blocks(near: u32, distance: u32, count: u32) {
  if (count == 0u) { return; }
  if (distance < NEAR_ROWS) {
    atomicAdd(&near_counts[distance], count);
  } else {
    atomicAdd(&block_counters[params.counter_first + near + distance], count);
  }
}

fn run(workgroup: Workgroup, thread: Thread) {
  let group = tile_index(workgroup.id, params.grid_width, params.grid_height);
  if (thread.index == 0u) {
    let word = params.runs_first + params.block_number;
    let runs = atomicLoad(&block_counters[word]);
    if (runs > params.most_runs || f32(runs) * params.run_bytes > least_bytes()) {
      shared_is_out = 1u;
      // For the pass behind. Who sees it in this one comes to the same.
      if (group == 0u) { atomicStore(&block_counters[word], 0xffffffffu); }
    }
  }
  if (workgroupUniformLoad(&shared_is_out) != 0u) { return; }
  let size = WORKGROUP_SIZE * ROUNDS * params.chunk_count;
  let first = group * size;
  bound_starts(first, first + size - 1u, params.row_count, thread);
  let near = block_of(shared_bounds[0]);
  var distance = 0u;  // of the block row that is counted
  var count = 0u;
  for (var chunk = 0u; chunk < params.chunk_count; chunk++) {
    let begin = first + (chunk * WORKGROUP_SIZE + thread.index) * ROUNDS;
    let end = min(begin + ROUNDS, params.entry_count);
    var row = 0u;
    var row_end = 0u;
    var block_before = 0u;
    for (var entry = begin; entry < end; entry++) {
      let block = block_of(column_at(entry));
      var is_head = block != block_before;
      if (entry >= row_end) {
        row = find_start(entry);
        row_end = start_at(row + 1u);
        is_head = entry == start_at(row) || block_of(column_at(max(entry, 1u) - 1u)) != block;
      }
      block_before = block;
      if (is_head && is_first_row_of_block(entry, row, block)) {
        let own = block_of(row) - near;
        if (own != distance) {
          add_blocks(near, distance, count);
          distance = own;
          count = 0u;
        }
        count++;
      }
    }
  }
  add_blocks(near, distance, count);
  workgroupBarrier();  // all entries of the workgroup are counted
  for (var i = thread.index; i < NEAR_ROWS; i += WORKGROUP_SIZE) {
    let count = atomicLoad(&near_counts[i]);
    if (count != 0u) { atomicAdd(&block_counters[params.counter_first + near + i], count); }
  }
}
