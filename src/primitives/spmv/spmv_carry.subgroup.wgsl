// Sums of what threads have left of a row, by shuffles, then across subgroups. A head begins anew. Subgroups are whole
// (the planner sees to it).
fn thread_rank(thread: Thread, workgroup: Workgroup) -> u32 {
  return thread.subgroup * workgroup.subgroup_size + thread.lane;
}

struct Carry {
  before: f32,  // of the threads before, back to the last head
  here: f32,    // with the thread's own
}

var<workgroup> subgroup_sums: array<f32, SUBGROUP_SLOTS>;
var<workgroup> subgroup_heads: array<u32, SUBGROUP_SLOTS>;

fn scan_carries(own: f32, is_head: bool, thread: Thread, workgroup: Workgroup) -> Carry {
  var sum = own;
  var head = u32(is_head);
  for (var distance = 1u; distance < workgroup.subgroup_size; distance *= 2u) {
    let sum_left = subgroupShuffleUp(sum, distance);
    let head_left = subgroupShuffleUp(head, distance);
    let takes = thread.lane >= distance && head == 0u;
    sum = select(sum, sum_left + sum, takes);
    head = select(head, head_left, takes);
  }
  if (thread.lane == workgroup.subgroup_size - 1u) {
    subgroup_sums[thread.subgroup] = sum;
    subgroup_heads[thread.subgroup] = head;
  }
  let sum_left = subgroupShuffleUp(sum, 1u);
  let head_left = subgroupShuffleUp(head, 1u);
  workgroupBarrier();  // one sum a subgroup is stored
  // Back to the last subgroup with a head; few have none.
  var before = 0.0;
  for (var s = thread.subgroup; s > 0u; s--) {
    before = subgroup_sums[s - 1u] + before;
    if (subgroup_heads[s - 1u] != 0u) { break; }
  }
  let here = select(before + sum, sum, head != 0u);
  if (thread.lane == 0u) { return Carry(before, here); }
  return Carry(select(before + sum_left, sum_left, head_left != 0u), here);
}
