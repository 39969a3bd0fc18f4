// sort_short: sorts segments of up to SHORT_ITEMS, in windows of TILE_ITEMS positions. Each item looks at the others of
// its segment and goes behind those that are less, and behind equal ones that were before it. A window holds the
// segments that begin in its first SHORT_STEP positions.
//
// Prelude gives  WORKGROUP_SIZE, TILE_ITEMS, SHORT_ITEMS, SHORT_STEP, MARK_WORDS
// Generated      staged, is_less, load_items, count_places, store_items
@group(0) @binding(5) var<storage, read> segment_begins: array<u32>;
@group(0) @binding(6) var<storage, read> segment_ends: array<u32>;
// See sort_lists.
@group(0) @binding(7) var<storage, read_write> lists: array<u32>;

const SHORT_WORDS = (SHORT_ITEMS + 31u) / 32u;

var<workgroup> shared_segments: vec2u;
// Bit p: a segment of the window begins or ends at its position p.
var<workgroup> begin_marks: array<atomic<u32>, MARK_WORDS>;
var<workgroup> end_marks: array<atomic<u32>, MARK_WORDS>;

// How many items of the segment are in front of an item and behind it; none of both if it lies in no segment.
struct Neighbours {
  before: u32,
  after: u32,
  is_inside: bool,
}

fn neighbours_of(position: u32) -> Neighbours {
  let upto = (2u << (position % 32u)) - 1u;
  var word = position / 32u;
  var bits = atomicLoad(&begin_marks[word]) & upto;
  for (var k = 0u; k < SHORT_WORDS && bits == 0u && word > 0u; k++) {
    word -= 1u;
    bits = atomicLoad(&begin_marks[word]);
  }
  if (bits == 0u) { return Neighbours(0u, 0u, false); }
  let begin = word * 32u + 31u - countLeadingZeros(bits);
  // Its end: the first behind the begin.
  bits = atomicLoad(&end_marks[word]) & ~((2u << (begin % 32u)) - 1u);
  for (var k = 0u; k < SHORT_WORDS && bits == 0u && word + 1u < MARK_WORDS; k++) {
    word += 1u;
    bits = atomicLoad(&end_marks[word]);
  }
  let end = select(word * 32u + countTrailingZeros(bits), TILE_ITEMS, bits == 0u);
  if (position >= end) { return Neighbours(0u, 0u, false); }
  return Neighbours(position - begin, end - 1u - position, true);
}

fn mark_segments(begin: u32, segments: vec2u, thread: Thread) {
  let item_total = lists[3];
  for (var segment = segments.x + thread.index; segment < segments.y; segment += WORKGROUP_SIZE) {
    let segment_begin = segment_begins[params.begins_first + segment];
    let segment_end = min(segment_ends[params.ends_first + segment], item_total);
    if (segment_begin < begin || segment_end <= segment_begin) { continue; }
    let first = segment_begin - begin;
    // A begin behind the window: only where segments are not in order.
    if (segment_end - segment_begin > SHORT_ITEMS || first >= SHORT_STEP) { continue; }
    atomicOr(&begin_marks[first / 32u], 1u << (first % 32u));
    let last = segment_end - begin;
    if (last < TILE_ITEMS) { atomicOr(&end_marks[last / 32u], 1u << (last % 32u)); }
  }
}

// Behind those before it that are not greater, and those after it that are less.
fn place_of(bits: Key, position: u32, before: u32, after: u32) -> u32 {
  var place = position;
  var at = position - before;
  for (; at + 4u <= position; at += 4u) {
    place -= is_less(bits, staged[at]) + is_less(bits, staged[at + 1u]) + is_less(bits, staged[at + 2u]) +
             is_less(bits, staged[at + 3u]);
  }
  for (; at < position; at++) { place -= is_less(bits, staged[at]); }
  at = position + 1u;
  let end = at + after;
  for (; at + 4u <= end; at += 4u) {
    place += is_less(staged[at], bits) + is_less(staged[at + 1u], bits) + is_less(staged[at + 2u], bits) +
             is_less(staged[at + 3u], bits);
  }
  for (; at < end; at++) { place += is_less(staged[at], bits); }
  return place;
}

fn bits_below(bit: u32) -> u32 { return select((1u << (bit % 32u)) - 1u, 0xffffffffu, bit >= 32u); }

// Those of the word that begins with bit `first` of the ordered key that count.
fn bits_in_word(first: u32) -> u32 {
  return bits_below(max(params.end_bit, first) - first) & ~bits_below(max(params.begin_bit, first) - first);
}

fn run(workgroup: Workgroup, thread: Thread) {
  let window = tile_index(workgroup.id, params.grid_width, params.grid_height);
  if (window >= params.workgroup_count) { return; }
  let begin = window * SHORT_STEP;
  if (thread.index == 0u) {
    shared_segments = vec2u(lists[params.short_first + window], lists[params.short_first + window + 1u]);
  }
  let segments = workgroupUniformLoad(&shared_segments);
  if (segments.x >= segments.y) { return; }
  mark_segments(begin, segments, thread);
  workgroupBarrier();  // all segments are marked
  let items = load_items(begin, thread);
  workgroupBarrier();  // all keys are stored
  store_items(items, count_places(items, thread), begin, thread);
}
