// sort_window: sorts segments in workgroup memory, a window of WINDOW_ITEMS positions at a time. A window holds all
// segments of up to SMALL_ITEMS that begin in its first WINDOW_STEP positions, or one longer segment. Items are sorted
// by key, then by the number of their segment in the window, so that each segment comes to lie where it was. Positions
// of no segment of the window take part as places that stay empty; they are neither read nor written.
//
// Items carry a tag: where they were in the window, and above 16 bits the number of their segment.
//
// Prelude gives  WORKGROUP_SIZE, WINDOW_ITEMS, WINDOW_STEP, SMALL_ITEMS, LISTS_HEADER, MARK_WORDS (at most a word a
//                thread), DIGIT_BITS
// Parts give     TAG_SHIFT, load_window, exchange_keys, store_window (generated), first_item, item_step, thread_rank,
//                threads_exclusive, clear_counts, count_digits, start_places, place_keys (sort_place.*)
@group(0) @binding(5) var<storage, read> segment_begins: array<u32>;
@group(0) @binding(6) var<storage, read> segment_ends: array<u32>;
// See sort_lists.
@group(0) @binding(7) var<storage, read_write> lists: array<u32>;

const SEGMENT_BITS = 16u;

struct Job {
  first_segment: u32,
  end_segment: u32,
  begin: u32,  // of the window
  limit: u32,  // longer segments are another's
}

var<workgroup> shared_job_count: u32;
var<workgroup> shared_job: Job;
var<workgroup> shared_segments: u32;
// Bit p: a segment of the window begins or ends at its position p.
var<workgroup> begin_marks: array<atomic<u32>, MARK_WORDS>;
var<workgroup> end_marks: array<atomic<u32>, MARK_WORDS>;
// Before each word: positions with marks; below 16 bits begins, above them ends.
var<workgroup> marks_before: array<vec2u, MARK_WORDS>;

fn count_windows() -> u32 { return (lists[3] + WINDOW_STEP - 1u) / WINDOW_STEP; }

fn find_job(number: u32) -> Job {
  let window_count = count_windows();
  if (number < window_count) {
    if (lists[LISTS_HEADER + number] == 0u) { return Job(0u, 0u, 0u, 0u); }
    let first = LISTS_HEADER + params.window_count + number;
    return Job(lists[first], lists[first + 1u], number * WINDOW_STEP, SMALL_ITEMS);
  }
  let segment = lists[params.medium_first + number - window_count];
  return Job(segment, segment + 1u, segment_begins[params.begins_first + segment], WINDOW_ITEMS);
}

fn mark_segments(job: Job, thread: Thread) {
  let item_total = lists[3];
  for (var segment = job.first_segment + thread.index; segment < job.end_segment; segment += WORKGROUP_SIZE) {
    let begin = segment_begins[params.begins_first + segment];
    let end = min(segment_ends[params.ends_first + segment], item_total);
    if (begin < job.begin || end <= begin || end - begin > job.limit || end - begin < params.shortest) { continue; }
    let first = begin - job.begin;
    if (first >= WINDOW_ITEMS) { continue; }  // only where segments are not in order
    atomicOr(&begin_marks[first / 32u], 1u << (first % 32u));
    let last = end - job.begin;
    if (last < WINDOW_ITEMS) { atomicOr(&end_marks[last / 32u], 1u << (last % 32u)); }
  }
}

fn marks_of(begins: u32, ends: u32) -> vec2u {
  return vec2u(countOneBits(begins | ends), countOneBits(begins) | (countOneBits(ends) << 16u));
}

struct Mark {
  segment: u32,  // number in the window
  is_inside: bool,
}

fn mark_at(position: u32) -> Mark {
  let word = position / 32u;
  let upto = (2u << (position % 32u)) - 1u;
  let counts =
      marks_before[word] + marks_of(atomicLoad(&begin_marks[word]) & upto, atomicLoad(&end_marks[word]) & upto);
  return Mark(counts.x, (counts.y & 0xffffu) > (counts.y >> 16u));
}

// Numbers the segments of the window. Returns how many numbers there are beside 0.
fn number_segments(thread: Thread, workgroup: Workgroup) -> u32 {
  let rank = thread_rank(thread, workgroup);
  var marks = vec2u(0u);
  if (rank < MARK_WORDS) { marks = marks_of(atomicLoad(&begin_marks[rank]), atomicLoad(&end_marks[rank])); }
  let before = threads_exclusive(marks, thread, workgroup);
  if (rank < MARK_WORDS) { marks_before[rank] = before; }
  if (rank == MARK_WORDS - 1u) { shared_segments = before.x + marks.x; }
  return workgroupUniformLoad(&shared_segments);
}

fn digit_of_segment(pass_number: u32) -> Digit {
  let shift = SEGMENT_BITS + pass_number * DIGIT_BITS;
  return Digit(TAG_SHIFT + shift, (1u << min(DIGIT_BITS, 32u - shift)) - 1u);
}

fn run(workgroup: Workgroup, thread: Thread) {
  if (thread.index == 0u) { shared_job_count = count_windows() + min(lists[0], params.most_medium); }
  let job_count = workgroupUniformLoad(&shared_job_count);
  let first = first_item(thread, workgroup);
  let step = item_step(workgroup);
  var number = tile_index(workgroup.id, params.grid_width, params.grid_height);
  if (number >= params.workgroup_count) { return; }
  for (; number < job_count; number += params.workgroup_count) {
    if (thread.index == 0u) { shared_job = find_job(number); }
    for (var word = thread.index; word < MARK_WORDS; word += WORKGROUP_SIZE) {
      atomicStore(&begin_marks[word], 0u);
      atomicStore(&end_marks[word], 0u);
    }
    let job = workgroupUniformLoad(&shared_job);
    if (job.first_segment >= job.end_segment) { continue; }
    mark_segments(job, thread);
    workgroupBarrier();  // all segments are marked
    let segments = number_segments(thread, workgroup);
    if (segments == 0u) { continue; }
    // A segment with its own window begins at its first position: behind it are places, and no numbers are needed.
    let is_single = job.limit == WINDOW_ITEMS;
    var room = WINDOW_ITEMS;
    var segment_passes = 0u;
    if (is_single) {
      room = min(segment_ends[params.ends_first + job.first_segment], lists[3]) - job.begin;
    } else {
      segment_passes = (31u - countLeadingZeros(segments)) / DIGIT_BITS + 1u;
    }
    var window = load_window(first, step, job.begin);
    for (var pass_number = 0u; pass_number < params.pass_count + segment_passes; pass_number++) {
      var digit = digit_of_number(pass_number);
      if (pass_number >= params.pass_count) { digit = digit_of_segment(pass_number - params.pass_count); }
      clear_counts(thread);
      let count = count_digits(window.keys, digit, first, step, room, thread, workgroup);
      let start = threads_exclusive(vec2u(count, 0u), thread, workgroup).x;
      start_places(start, thread, workgroup);
      let places = place_keys(window.keys, digit, first, step, room, thread, workgroup);
      window.keys = exchange_keys(window.keys, places, first, step);
    }
    store_window(window, first, step, job.begin);
  }
}
