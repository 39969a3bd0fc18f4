// Places of keys in workgroup memory, without subgroups: the tile's digits are sorted by 4 bits at a time, each thread
// counting those of its own consecutive items. Digits travel with the number of their item; at the end each item is
// told where its digit came to lie.
// Source: Satish, Harris and Garland 2009.
//
// Prelude gives  STAGE_WORDS, DIGITS, ITEMS_PER_THREAD
// Generated      count_keys, split_tile, place_keys
var<workgroup> stage: array<u32, STAGE_WORDS>;
var<workgroup> digit_counts: array<atomic<u32>, DIGITS>;

// 16 counters of 16 bits a thread, two a word: those of 8 and more in the upper half.
const COUNTER_WORDS = 8u;

fn stage_put(at: u32, word: u32) { stage[at] = word; }
fn stage_get(at: u32) -> u32 { return stage[at]; }

fn thread_rank(thread: Thread, workgroup: Workgroup) -> u32 { return thread.index; }
fn first_item(thread: Thread, workgroup: Workgroup) -> u32 { return thread.index; }
fn item_step(workgroup: Workgroup) -> u32 { return WORKGROUP_SIZE; }

// Not needed for the first tile: workgroup memory begins as zeros.
fn clear_counts(thread: Thread) {
  workgroupBarrier();  // the memory has been read
  for (var d = thread.index; d < DIGITS; d += WORKGROUP_SIZE) { atomicStore(&digit_counts[d], 0u); }
  workgroupBarrier();  // the counts are zero
}

// How often the digit of this thread's rank occurs in the tile.
fn count_digits(keys: Keys, digit: Digit, first: u32, step: u32, room: u32, thread: Thread, workgroup: Workgroup) -> u32 {
  count_keys(keys, digit, first, step, room);
  workgroupBarrier();  // all keys are counted
  var count = 0u;
  if (thread.index < DIGITS) { count = atomicLoad(&digit_counts[thread.index]); }
  return count;
}

fn start_places(start: u32, thread: Thread, workgroup: Workgroup) {}

// A gap after every eighth counter keeps threads in different banks, whether they walk their own or scan.
fn counter_at(counter: u32) -> u32 { return counter + counter / COUNTER_WORDS; }
fn own_counter(bin: u32, thread: Thread) -> u32 {
  return counter_at((bin % COUNTER_WORDS) * WORKGROUP_SIZE + thread.index);
}
fn half_of(bin: u32) -> u32 { return bin / COUNTER_WORDS * 16u; }

fn clear_counters(thread: Thread) {
  for (var word = 0u; word < COUNTER_WORDS; word++) { stage[own_counter(word, thread)] = 0u; }
}

fn count_bin(bin: u32, thread: Thread) -> u32 {
  let at = own_counter(bin, thread);
  let word = stage[at];
  stage[at] = word + (1u << half_of(bin));
  return (word >> half_of(bin)) & 0xffffu;
}

fn place_in_bin(bin: u32, thread: Thread) -> u32 { return (stage[own_counter(bin, thread)] >> half_of(bin)) & 0xffffu; }

// Counters become places, bin by bin and thread by thread. At most 65535 items a tile.
fn scan_counters(thread: Thread, workgroup: Workgroup) {
  workgroupBarrier();  // all threads have counted
  let begin = thread.index * COUNTER_WORDS;
  var sum = 0u;
  for (var i = 0u; i < COUNTER_WORDS; i++) { sum += stage[counter_at(begin + i)]; }
  let threads = scan_threads(vec2u(sum, 0u), thread, workgroup);
  var place = threads.before.x + (threads.total.x << 16u);  // the upper bins come after all lower ones
  for (var i = 0u; i < COUNTER_WORDS; i++) {
    let at = counter_at(begin + i);
    let count = stage[at];
    stage[at] = place;
    place += count;
  }
  workgroupBarrier();  // all counters are places
}
