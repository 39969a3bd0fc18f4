// sort_join: joins sorted runs of long segments, as many at a time as the root of their number: first the chunks of a
// segment, then the runs that these make. An item goes behind those of its own run that are before it, and those of the
// other runs that are smaller, or equal and of an earlier run: a binary search in each of them counts those. It begins
// where the first and the last item of a row would go, since the others go between.
//
// Prelude gives  WORKGROUP_SIZE, CHUNK_ROWS (rows of WORKGROUP_SIZE items in a chunk), MOST_RADIX
// Parts give     params (sort_params.segments), Chunk, find_chunk, shared_chunk (sort_long_segments), bits_in_word
//                (sort_bits), tile_index (grid)
// Generated      keys_in, keys_out, is_less, compared_bits, move_item
struct Join {
  begin: u32,  // of the runs that become one
  end: u32,
  own: u32,    // the one that the row is of
  run_items: u32,
  run_count: u32,
}

// Where in each run the first item of the row would go, and the last; twice the begin of their own one.
var<workgroup> row_bounds: array<array<u32, 2>, MOST_RADIX>;

// The least number of runs that times itself is all chunks.
fn radix_of(chunk: Chunk) -> u32 {
  let chunk_count = (chunk.segment_end - chunk.segment_begin - 1u) / params.chunk_items + 1u;
  var radix = 1u;
  while (radix * radix < chunk_count) { radix++; }
  return min(radix, MOST_RADIX);
}

fn join_of(chunk: Chunk) -> Join {
  let radix = radix_of(chunk);
  let run_items = params.chunk_items * select(radix, 1u, params.pass_number == 0u);
  let group_items = run_items * radix;
  let begin = chunk.segment_begin + (chunk.begin - chunk.segment_begin) / group_items * group_items;
  let end = begin + min(group_items, chunk.segment_end - begin);
  return Join(begin, end, begin + (chunk.begin - begin) / run_items * run_items, run_items,
              (end - begin - 1u) / run_items + 1u);
}

fn bits_at(position: u32) -> Key { return compared_bits(keys_in[params.keys_first + position]); }

// How many of the items between two positions go before one. The end is before the begin where segments overlap, whose
// chunks overwrite one another.
fn count_before(begin: u32, end: u32, bits: Key, after_equals: bool) -> u32 {
  var at = begin;
  var left = max(begin, end) - begin;
  while (left > 0u) {
    let half = (left + 1u) / 2u;
    let other = bits_at(at + half - 1u);
    at += select(0u, half, select(is_less(other, bits), !is_less(bits, other), after_equals));
    left -= half;
  }
  return at - begin;
}

fn find_bounds(join: Join, first_item: u32, last_item: u32, thread: Thread) {
  for (var i = thread.index; i < 2u * join.run_count; i += WORKGROUP_SIZE) {
    let first = join.begin + i / 2u * join.run_items;
    let bits = bits_at(select(first_item, last_item, i % 2u != 0u));
    let end = select(min(first + join.run_items, join.end), first, first == join.own);
    row_bounds[i / 2u][i % 2u] = first + count_before(first, end, bits, first < join.own);
  }
}

fn join_item(position: u32, join: Join) {
  let key = keys_in[params.keys_first + position];
  let bits = compared_bits(key);
  var to = position - (join.own - join.begin);
  for (var run = 0u; run < join.run_count; run++) {
    let first = join.begin + run * join.run_items;
    let bounds = row_bounds[run];
    to += bounds[0] - first + count_before(bounds[0], bounds[1], bits, first < join.own);
  }
  move_item(key, position, to);
}

fn run(workgroup: Workgroup, thread: Thread) {
  var row = tile_index(workgroup.id, params.grid_width, params.grid_height);
  if (row >= params.workgroup_count) { return; }
  loop {
    if (thread.index == 0u) { shared_chunk = find_chunk(row / CHUNK_ROWS); }
    let chunk = workgroupUniformLoad(&shared_chunk);
    if (chunk.begin == chunk.end) { return; }
    let first = chunk.begin + row % CHUNK_ROWS * WORKGROUP_SIZE;
    let join = join_of(chunk);
    if (first < chunk.end) { find_bounds(join, first, min(first + WORKGROUP_SIZE, chunk.end) - 1u, thread); }
    workgroupBarrier();  // the bounds are known
    if (first + thread.index < chunk.end) { join_item(first + thread.index, join); }
    row += params.workgroup_count;
  }
}
