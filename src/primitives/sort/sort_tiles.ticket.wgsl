// Tiles are taken by ticket, so that whoever waits waits for workgroups that have started.
var<workgroup> shared_tile: u32;

fn take_tile(workgroup: Workgroup, thread: Thread) -> u32 {
  if (thread.index == 0u) { shared_tile = atomicAdd(&counts[params.pass_count * DIGITS + params.pass_number], 1u); }
  return workgroupUniformLoad(&shared_tile);
}
