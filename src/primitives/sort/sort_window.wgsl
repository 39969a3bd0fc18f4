// sort_window: sorts segments in workgroup memory, a window of WINDOW_ITEMS positions at a time. A window holds all
// segments of up to SMALL_ITEMS that begin in its first WINDOW_STEP positions, or one longer segment or chunk of it. A
// thread sorts a run of up to RUN_ITEMS in its registers. Longer segments are several runs (sort_merges).
//
// Prelude gives  WORKGROUP_SIZE, WINDOW_ITEMS, WINDOW_STEP, SMALL_ITEMS, RUN_ITEMS, MARK_WORDS
// Parts give     load_items, stage_items, sort_run, store_items (generated), clear_runs, list_runs, listed_runs,
//                listed_range, merge_runs (sort_merges, sort_merges.none), bits_in_word (sort_bits)
@group(0) @binding(5) var<storage, read> segment_begins: array<u32>;
@group(0) @binding(6) var<storage, read> segment_ends: array<u32>;
// See sort_lists.
@group(0) @binding(7) var<storage, read_write> lists: array<u32>;

const ONE_SEGMENT = 0x80000000u;  // as sort_lists.wgsl

struct Job {
  first_segment: u32,
  end_segment: u32,
  begin: u32,  // of the window
  room: u32,   // of this
  limit: u32,  // longer segments are another's; WINDOW_ITEMS where the window is one segment
}

// Positions of a window.
struct Range {
  first: u32,
  count: u32,
}

var<workgroup> shared_job_count: u32;
var<workgroup> shared_job: Job;
// Bit p: a segment of the window holds its position p.
var<workgroup> inside_marks: array<atomic<u32>, MARK_WORDS>;

// 1 or 0.
fn is_inside(position: u32) -> u32 { return (atomicLoad(&inside_marks[position / 32u]) >> (position % 32u)) & 1u; }

// Of 1 to 32 positions.
fn mark_inside(range: Range) {
  let bits = 0xffffffffu >> (32u - range.count);
  let word = range.first / 32u;
  let shift = range.first % 32u;
  atomicOr(&inside_marks[word], bits << shift);
  if (shift + range.count > 32u) { atomicOr(&inside_marks[word + 1u], bits >> (32u - shift)); }
}

fn count_jobs() -> u32 {
  if (params.jobs_first != 0u) { return min(lists[params.job_counter], params.most_jobs); }
  return (lists[3] + WINDOW_STEP - 1u) / WINDOW_STEP;
}

fn find_job(number: u32) -> Job {
  var window = number;
  if (params.jobs_first != 0u) {
    let at = params.jobs_first + 2u * number;
    window = lists[at];
    if (window >= ONE_SEGMENT) {
      let begin = window - ONE_SEGMENT;
      return Job(0u, 1u, begin, lists[at + 1u] - begin, WINDOW_ITEMS);
    }
  }
  let first = params.windows_first + window;
  return Job(lists[first], lists[first + 1u], window * WINDOW_STEP, WINDOW_ITEMS, SMALL_ITEMS);
}

// Where a segment lies in the window; of no items if that holds it not.
fn range_of(segment: u32, job: Job) -> Range {
  if (job.limit == WINDOW_ITEMS) { return Range(0u, job.room); }
  let begin = segment_begins[params.begins_first + segment];
  let end = min(segment_ends[params.ends_first + segment], lists[3]);
  if (begin < job.begin || end <= begin) { return Range(); }
  let first = begin - job.begin;
  let count = end - begin;
  // A begin behind the window: only where segments are not in order.
  if (count > job.limit || count < params.shortest || first >= WINDOW_STEP) { return Range(); }
  return Range(first, count);
}

fn sort_runs(job: Job, thread: Thread) {
  let segment_count = job.end_segment - job.first_segment;
  let count = segment_count + listed_runs();
  for (var i = thread.index; i < count; i += WORKGROUP_SIZE) {
    var range: Range;
    if (i < segment_count) {
      range = range_of(job.first_segment + i, job);
      if (range.count > RUN_ITEMS) { continue; }
    } else {
      range = listed_range(i - segment_count);
    }
    if (range.count == 0u) { continue; }
    mark_inside(range);
    sort_run(range.first, range.count);
  }
}

fn run(workgroup: Workgroup, thread: Thread) {
  if (thread.index == 0u) { shared_job_count = count_jobs(); }
  let job_count = workgroupUniformLoad(&shared_job_count);
  var number = tile_index(workgroup.id, params.grid_width, params.grid_height);
  if (number >= params.workgroup_count) { return; }
  for (; number < job_count; number += params.workgroup_count) {
    if (thread.index == 0u) { shared_job = find_job(number); }
    let job = workgroupUniformLoad(&shared_job);
    if (job.first_segment >= job.end_segment) { continue; }
    for (var word = thread.index; word < MARK_WORDS; word += WORKGROUP_SIZE) { atomicStore(&inside_marks[word], 0u); }
    clear_runs(thread);
    let items = load_items(job.begin, job.room, thread);  // on their way while runs are listed
    workgroupBarrier();                                   // marks and runs are cleared
    list_runs(job, thread);
    stage_items(items, thread);
    workgroupBarrier();  // the keys are stored, all runs listed
    sort_runs(job, thread);
    merge_runs(thread);
    workgroupBarrier();  // the segments are sorted
    store_items(job.begin, thread);
  }
}
