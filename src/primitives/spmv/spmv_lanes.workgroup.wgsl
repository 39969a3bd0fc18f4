// Sums of LANES neighbouring threads in workgroup memory.
fn thread_rank(thread: Thread, workgroup: Workgroup) -> u32 { return thread.index; }

var<workgroup> lane_sums: array<f32, WORKGROUP_SIZE>;

fn fold_lanes(own: f32, rank: u32, workgroup: Workgroup) -> f32 {
  var sum = own;
  workgroupBarrier();  // an earlier call has been read
  lane_sums[rank] = sum;
  for (var distance = LANES / 2u; distance > 0u; distance /= 2u) {
    workgroupBarrier();  // the level above is complete
    if (rank % LANES < distance) {
      sum += lane_sums[rank + distance];
      lane_sums[rank] = sum;
    }
  }
  return sum;
}
