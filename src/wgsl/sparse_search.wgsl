// Which row, slice or the like an item belongs to, by search in ascending starts. A workgroup finds those of its first and
// last item, with all threads at once, and each thread searches for others between them.
//
// Prelude gives  WORKGROUP_SIZE
// Parts give     start_at (generated)
var<workgroup> shared_bounds: array<u32, 2>;
var<workgroup> latest_starts: array<atomic<u32>, 2>;

// The last start from `first` on and before `end` that is at most the item; `first` if there is none.
fn search_starts(item: u32, first: u32, end: u32) -> u32 {
  var low = first;
  var high = end;
  while (low + 1u < high) {
    let middle = low + (high - low) / 2u;
    if (start_at(middle) <= item) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

// Called once, by all threads, before find_start: the items of the workgroup, first and last, and the number of starts,
// which is uniform.
fn bound_starts(first: u32, last: u32, count: u32, thread: Thread) {
  var begins = vec2u(0u);
  // Both are within so many starts behind their begins.
  var size = count;
  while (size > 1u) {
    let step = (size - 1u) / WORKGROUP_SIZE + 1u;
    let offset = thread.index * step;
    if (offset < size) {
      let probes = begins + vec2u(offset);
      if (probes.x < count && start_at(min(probes.x, count - 1u)) <= first) { atomicMax(&latest_starts[0], probes.x); }
      if (probes.y < count && start_at(min(probes.y, count - 1u)) <= last) { atomicMax(&latest_starts[1], probes.y); }
    }
    workgroupBarrier();  // the latest starts are known
    begins = vec2u(atomicLoad(&latest_starts[0]), atomicLoad(&latest_starts[1]));
    size = step;
    workgroupBarrier();  // and have been read
  }
  if (thread.index == 0u) {
    shared_bounds[0] = begins.x;
    shared_bounds[1] = begins.y;
  }
  workgroupBarrier();  // both are stored
}

fn find_start(item: u32) -> u32 { return search_starts(item, shared_bounds[0], shared_bounds[1] + 1u); }
