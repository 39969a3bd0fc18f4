// ladder_reduce_clear: the sum that ladder_reduce_atomic adds to begins at zero.
@group(0) @binding(2) var<storage, read_write> output: array<u32>;

fn run(workgroup: Workgroup, thread: Thread) {
  if (thread.index == 0u && all(workgroup.id == vec3u())) {
    output[0] = 0u;
  }
}
