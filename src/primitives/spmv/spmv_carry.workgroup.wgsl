// Sums of what threads have left of a row, in workgroup memory (Kogge and Stone 1973). A head begins anew.
fn thread_rank(thread: Thread, workgroup: Workgroup) -> u32 { return thread.index; }

struct Carry {
  before: f32,  // of the threads before, back to the last head
  here: f32,    // with the thread's own
}

var<workgroup> carry_sums: array<f32, 2u * WORKGROUP_SIZE>;
var<workgroup> carry_heads: array<u32, 2u * WORKGROUP_SIZE>;

fn scan_carries(own: f32, is_head: bool, thread: Thread, workgroup: Workgroup) -> Carry {
  var sum = own;
  var head = u32(is_head);
  carry_sums[thread.index] = sum;
  carry_heads[thread.index] = head;
  var source = 0u;
  for (var distance = 1u; distance < WORKGROUP_SIZE; distance *= 2u) {
    workgroupBarrier();  // the level below is complete
    if (thread.index >= distance && head == 0u) {
      sum += carry_sums[source + thread.index - distance];
      head = carry_heads[source + thread.index - distance];
    }
    source = WORKGROUP_SIZE - source;
    carry_sums[source + thread.index] = sum;
    carry_heads[source + thread.index] = head;
  }
  workgroupBarrier();  // the scan is complete
  return Carry(select(0.0, carry_sums[source + max(thread.index, 1u) - 1u], thread.index > 0u), sum);
}
