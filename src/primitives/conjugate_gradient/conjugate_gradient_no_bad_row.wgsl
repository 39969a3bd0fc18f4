// conjugate_gradient_no_bad_row: no row is bad, until one is found.
struct CgNoBadRowParams {
  bad_row_first: u32,
}

@group(0) @binding(0) var<uniform> params: CgNoBadRowParams;
@group(0) @binding(1) var<storage, read_write> bad_row: array<atomic<u32>>;

fn run(workgroup: Workgroup, thread: Thread) {
  if (thread.index == 0u) { atomicStore(&bad_row[params.bad_row_first], 0xffffffffu); }
}
