// probe_arithmetic: small facts about a device that no limit states. Answers: words of `output`.
//   0  workgroup atomics: count of the threads
//   1  u32 divisions and remainders that were wrong, over sampled values
//   2  bits of a product of f32 that is subnormal
struct ProbeParams {
  one: u32,  // 1, from outside: nothing can be folded at compile time
}

@group(0) @binding(0) var<uniform> params: ProbeParams;
@group(0) @binding(1) var<storage, read_write> output: array<u32>;

var<workgroup> counter: atomic<u32>;
var<workgroup> wrong: atomic<u32>;

fn run(workgroup: Workgroup, thread: Thread) {
  if (thread.index == 0u) {
    atomicStore(&counter, 0u);
    atomicStore(&wrong, 0u);
  }
  workgroupBarrier();  // both are zero
  atomicAdd(&counter, params.one);
  let a = (0xffffffffu - thread.index * 65537u) * params.one;
  let b = (thread.index * thread.index * 3u + 7u) * params.one;
  let quotient = a / b;
  if (quotient * b + a % b != a || a % b >= b) { atomicAdd(&wrong, 1u); }
  workgroupBarrier();  // all have counted
  if (thread.index == 0u) {
    output[0] = atomicLoad(&counter);
    output[1] = atomicLoad(&wrong);
    let tiny = bitcast<f32>(0x00800000u * params.one);  // 2^-126
    output[2] = bitcast<u32>(tiny * (0.5 * f32(params.one)));
  }
}
