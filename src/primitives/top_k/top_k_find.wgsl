// top_k_find: one workgroup finds the digit that holds the wanted rank, notes it, and leaves the counts at zero.
//
// Prelude gives  WORKGROUP_SIZE, DIGITS_PER_THREAD, Key
// Parts give     start_search, note_lengths (top_k_start.*), store_threshold, Counts, take_counts, sum_of, try_digits
//                (generated), threads_exclusive (sort_threads.workgroup), place_digit, ones_below (top_k_bits.*), names
//                of words (top_k_search)
struct FindParams {
  item_count: u32,
  wanted_count: u32,
  shift: u32,
  capacity: u32,         // for candidates
  keeps_lesser: u32,     // candidates are all keys up to the digit; else those with it
  count_first: u32,
  wanted_first: u32,
  count_out_first: u32,
  threshold_first: u32,
}

@group(0) @binding(0) var<uniform> params: FindParams;
@group(0) @binding(1) var<storage, read_write> search: array<u32>;
@group(0) @binding(2) var<storage, read_write> counts: array<atomic<u32>>;

struct Start {
  rank: u32,  // from 1; 0: nothing is wanted
  low: Key,   // the digits found so far
}

// Is the wanted rank among the `count` keys with this digit, which follow `before` lesser ones? One digit of all is it.
fn try_digit(digit: u32, before: u32, count: u32, start: Start) {
  if (before < start.rank && start.rank <= before + count) {
    let low = start.low | place_digit(digit, params.shift);
    let low_words = words_of_key(low);
    let high_words = words_of_key(low | ones_below(params.shift));
    search[LOW] = low_words.x;
    search[LOW + 1u] = low_words.y;
    search[HIGH] = high_words.x;
    search[HIGH + 1u] = high_words.y;
    search[RANK] = start.rank - before;
    note_lengths(start.rank, count + select(0u, before, params.keeps_lesser != 0u));
    store_threshold(low);
  }
}

fn run(workgroup: Workgroup, thread: Thread) {
  let start = start_search();
  let own = take_counts(thread.index * DIGITS_PER_THREAD);
  let before = threads_exclusive(vec2u(sum_of(own), 0u), thread, workgroup).x;
  storageBarrier();  // all threads have read the search, which one of them is about to change
  try_digits(thread.index * DIGITS_PER_THREAD, before, own, start);
  if (start.rank == 0u && thread.index == 0u) { note_lengths(0u, 0u); }
}
