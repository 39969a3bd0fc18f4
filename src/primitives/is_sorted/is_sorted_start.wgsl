// is_sorted_start: the answer for an array in which no fault is found.
//
// Parts give     item_total (generated), is_sorted_params
fn run(workgroup: Workgroup, thread: Thread) {
  if (workgroup.id.x == 0u && thread.index == 0u) {
    atomicStore(&sorted_result[params.result_first], 1u);
    atomicStore(&leading_count[params.leading_first], item_total());
  }
}
