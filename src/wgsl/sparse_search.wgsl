// Which row, slice or the like an item belongs to, by binary search in ascending starts. A workgroup finds those of its
// first and last item, and searches for the others between them.
//
// Prelude gives  WORKGROUP_SIZE
// Parts give     start_at (generated)
var<workgroup> shared_bounds: array<u32, 2>;

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

// Called once, by all threads, before find_start: the items of the workgroup, first and last, and the number of starts.
fn bound_starts(first: u32, last: u32, count: u32, thread: Thread) {
  for (var i = thread.index; i < 2u; i += WORKGROUP_SIZE) {
    shared_bounds[i] = search_starts(select(first, last, i == 1u), 0u, count);
  }
  workgroupBarrier();  // both are stored
}

fn find_start(item: u32) -> u32 { return search_starts(item, shared_bounds[0], shared_bounds[1] + 1u); }
