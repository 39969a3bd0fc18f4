// Segments of several runs: runs that are sorted are merged two by two until a segment is one. Each thread makes a run
// of the merged ones: a binary search finds which items of the two go before it.
//
// Prelude gives  WORKGROUP_SIZE, RUN_ITEMS, RUN_SLOTS (a multiple of WORKGROUP_SIZE)
// Generated      staged, is_less, Run, merged_run, store_run
//
// A run: 12 bits first position of its segment, 12 bits items of that less 1, 8 bits which run of it. 0: none.
var<workgroup> run_list: array<u32, RUN_SLOTS>;
var<workgroup> shared_run_count: atomic<u32>;
var<workgroup> shared_longest: atomic<u32>;
var<workgroup> shared_extent: vec2u;

fn listed_run(segment: Range, run: u32) -> u32 { return (segment.first << 20u) | ((segment.count - 1u) << 8u) | run; }

// The whole segment of a run.
fn segment_of(listed: u32) -> Range { return Range(listed >> 20u, ((listed >> 8u) & 0xfffu) + 1u); }

struct Merge {
  a: u32,      // the items left of the one run
  a_end: u32,
  b: u32,      // and of the other
  b_end: u32,
  to: u32,
  count: u32,
}

fn clear_runs(thread: Thread) {
  for (var slot = thread.index; slot < RUN_SLOTS; slot += WORKGROUP_SIZE) { run_list[slot] = 0u; }
  if (thread.index == 0u) {
    atomicStore(&shared_run_count, 0u);
    atomicStore(&shared_longest, 0u);
  }
}

fn list_runs(job: Job, thread: Thread) {
  if (job.limit == WINDOW_ITEMS) {
    if (job.room <= RUN_ITEMS) { return; }
    let run_count = (job.room - 1u) / RUN_ITEMS + 1u;
    if (thread.index < run_count) { run_list[thread.index] = listed_run(Range(0u, job.room), thread.index); }
    if (thread.index == 0u) {
      atomicStore(&shared_run_count, run_count);
      atomicStore(&shared_longest, job.room);
    }
    return;
  }
  for (var segment = job.first_segment + thread.index; segment < job.end_segment; segment += WORKGROUP_SIZE) {
    let range = range_of(segment, job);
    if (range.count <= RUN_ITEMS) { continue; }
    let run_count = (range.count - 1u) / RUN_ITEMS + 1u;
    var first = atomicAdd(&shared_run_count, run_count);
    // They are read in one step, before the first of them is written.
    while (first % WORKGROUP_SIZE + run_count > WORKGROUP_SIZE) { first = atomicAdd(&shared_run_count, run_count); }
    // No room: only where segments overlap.
    if (first + run_count > RUN_SLOTS) { continue; }
    atomicMax(&shared_longest, range.count);
    for (var run = 0u; run < run_count; run++) { run_list[first + run] = listed_run(range, run); }
  }
}

fn listed_runs() -> u32 { return min(atomicLoad(&shared_run_count), RUN_SLOTS); }

fn listed_range(slot: u32) -> Range {
  let listed = run_list[slot];
  if (listed == 0u) { return Range(); }
  let segment = segment_of(listed);
  let before = (listed & 0xffu) * RUN_ITEMS;
  return Range(segment.first + before, min(RUN_ITEMS, segment.count - before));
}

// What a run is made of where groups of `width` runs, a power of two, are merged.
fn merge_at(slot: u32, width: u32) -> Merge {
  let listed = run_list[slot];
  if (listed == 0u) { return Merge(); }
  let segment = segment_of(listed);
  let run = listed & 0xffu;
  let before = run * RUN_ITEMS;
  let first = (run & ~(2u * width - 1u)) * RUN_ITEMS;
  let length = width * RUN_ITEMS;
  let middle = first + length;
  if (middle >= segment.count) { return Merge(); }
  let end = min(middle + length, segment.count);
  let a_first = segment.first + first;
  let b_first = segment.first + middle;
  // How many of the items before this run are of the first one.
  let place = before - first;
  var low = place - min(place, end - middle);
  var high = min(place, length);
  while (low < high) {
    let half = (low + high) / 2u;
    if (is_less(staged[b_first + place - 1u - half], staged[a_first + half])) { high = half; } else { low = half + 1u; }
  }
  return Merge(a_first + low, b_first, b_first + place - low, segment.first + end, segment.first + before,
               min(RUN_ITEMS, segment.count - before));
}

fn merge_runs(thread: Thread) {
  workgroupBarrier();  // the runs are sorted
  if (thread.index == 0u) { shared_extent = vec2u(listed_runs(), atomicLoad(&shared_longest)); }
  let extent = workgroupUniformLoad(&shared_extent);
  for (var width = 1u; width * RUN_ITEMS < extent.y; width *= 2u) {
    for (var first = 0u; first < extent.x; first += WORKGROUP_SIZE) {
      let merge = merge_at(first + thread.index, width);
      let merged = merged_run(merge);
      workgroupBarrier();  // the runs have been read
      store_run(merge, merged);
      workgroupBarrier();  // they are merged
    }
  }
}
