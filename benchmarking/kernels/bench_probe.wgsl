// bench_probe: a chain of multiplications that wait for each other, so that its time follows the clock and nothing else.
struct ProbeParams {
  round_count: u32,
  multiplier: u32,
}

@group(0) @binding(0) var<uniform> params: ProbeParams;
@group(0) @binding(1) var<storage, read_write> output: array<u32>;

fn run(workgroup: Workgroup, thread: Thread) {
  let m = params.multiplier;
  var x = thread.index;
  for (var i = 0u; i < params.round_count; i++) {
    x = x * m + 1u;
    x = x * m + 1u;
    x = x * m + 1u;
    x = x * m + 1u;
    x = x * m + 1u;
    x = x * m + 1u;
    x = x * m + 1u;
    x = x * m + 1u;
    x = x * m + 1u;
    x = x * m + 1u;
    x = x * m + 1u;
    x = x * m + 1u;
    x = x * m + 1u;
    x = x * m + 1u;
    x = x * m + 1u;
    x = x * m + 1u;
  }
  output[thread.index] = x;
}
