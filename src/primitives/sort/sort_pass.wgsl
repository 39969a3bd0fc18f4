// sort_pass: one digit in one pass over the items. Each workgroup takes a tile, publishes how often each digit occurs in
// it, ranks its keys, learns from the tiles before where its digits go, and scatters through workgroup memory.
// Sources: Merrill and Garland 2016 (decoupled look-back); Adinets and Merrill 2022 (Onesweep); Smith, Levien and Owens
// 2025 (decoupled fallback).
//
// A record is one word a tile and digit: a flag of 2 bits above a count of 30. The word is all that is exchanged, so no
// order between memory locations is needed. FLAG_TILE: the count of the tile; the flag of a prefix: of the tile and all
// before it. The flag of a prefix alternates from pass to pass, and all records end a pass with it, so that those of the
// pass before read as missing and nothing need be cleared between passes.
//
// Prelude gives  WORKGROUP_SIZE, TILE_ITEMS, DIGITS, POLL_ROUNDS, LOOKS_BACK_LATE
// Parts give     uniform_item_count (sort_uniform_extent.*), take_tile (sort_tiles.*), load_keys, store_tile (generated), first_item,
//                item_step, thread_rank, threads_exclusive, count_digits, start_places, place_keys (sort_place.*),
//                look_back (generated): items with a digit in the tiles before. Each digit is one thread's; several records
//                are on their way at a time. Ends without help of others: what is missing after POLL_ROUNDS looks is counted.
@group(0) @binding(5) var<storage, read_write> records: array<atomic<u32>>;
@group(0) @binding(6) var<storage, read_write> counts: array<atomic<u32>>;

const FLAGS = 0xc0000000u;
const FLAG_TILE = 0x40000000u;

fn flag_of_prefix() -> u32 { return select(0x80000000u, 0xc0000000u, (params.pass_number & 1u) == 1u); }

fn is_published(word: u32) -> bool {
  return (word & FLAGS) == FLAG_TILE || (word & FLAGS) == flag_of_prefix();
}

// Tests, and the self-test of contexts: tiles that never publish, as if their workgroups stalled. A parameter, so that
// the kernel under test is the one in use.
fn is_hidden(tile: u32) -> bool {
  let every = max(params.hidden_tiles, 1u);
  return params.hidden_tiles != 0u && tile % every == 1u % every;
}

fn record_of(tile: u32, digit: u32) -> u32 { return (params.record_first + tile) * DIGITS + digit; }

// What a stalled workgroup owes, counted from its keys by one thread. Slow and rare.
fn count_in_tile(tile: u32, wanted: u32) -> u32 {
  let digit = digit_of_pass();
  var found = 0u;
  for (var i = 0u; i < TILE_ITEMS; i++) {
    found += u32(digit_of(keys_in[params.keys_first + tile * TILE_ITEMS + i], digit) == wanted);
  }
  return found;
}

// Counts and publishes what tile `tile` has not. Counts agree, so that it does not matter who comes first; the owner's words
// have precedence.
fn lend_count(tile: u32, digit: u32) -> u32 {
  let at = record_of(tile, digit);
  let found = count_in_tile(tile, digit);
  let old = atomicLoad(&records[at]);
  if (!is_published(old)) { _ = atomicCompareExchangeWeak(&records[at], old, FLAG_TILE | found); }
  return found;
}

// After this, digit_offsets turns a place in the tile into a position in the output.
fn find_offsets(tile: u32, count: u32, starts: vec2u, thread: Thread, workgroup: Workgroup) {
  let digit = thread_rank(thread, workgroup);
  if (digit < DIGITS) {
    let before = look_back(tile, digit);
    if (!is_hidden(tile)) { atomicStore(&records[record_of(tile, digit)], flag_of_prefix() | (before + count)); }
    digit_offsets[digit] = starts.y + before - starts.x;
  }
}

fn run(workgroup: Workgroup, thread: Thread) {
  let item_total = uniform_item_count(thread);
  let tile = take_tile(workgroup, thread);
  if (tile >= count_tiles(item_total)) { return; }
  let rank = thread_rank(thread, workgroup);
  let room = min(item_total - tile * TILE_ITEMS, TILE_ITEMS);
  let first = first_item(thread, workgroup);
  let step = item_step(workgroup);
  let digit = digit_of_pass();
  var all = 0u;  // of the whole input, with this thread's digit
  if (rank < DIGITS) { all = atomicLoad(&counts[params.pass_number * DIGITS + rank]); }
  let keys = load_keys(first, step, tile * TILE_ITEMS, room);
  let count = count_digits(keys, digit, first, step, room, thread, workgroup);
  if (rank < DIGITS && !is_hidden(tile)) {
    atomicStore(&records[record_of(tile, rank)], select(FLAG_TILE, flag_of_prefix(), tile == 0u) | count);
  }
  let starts = threads_exclusive(vec2u(count, all), thread, workgroup);
  start_places(starts.x, thread, workgroup);
  if (!LOOKS_BACK_LATE) { find_offsets(tile, count, starts, thread, workgroup); }
  let places = place_keys(keys, digit, first, step, room, thread, workgroup);
  if (LOOKS_BACK_LATE) { find_offsets(tile, count, starts, thread, workgroup); }
  store_tile(keys, places, digit, first, step, tile * TILE_ITEMS, room, thread);
}
