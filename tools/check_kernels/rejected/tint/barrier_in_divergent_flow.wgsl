@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) index: u32) {
  if (index < 3u) { workgroupBarrier(); }
}
