// Entry point of tests that emulate subgroups of EMULATED_SIZE in workgroup memory. Threads are dealt to subgroups and
// lanes by a scrambled bijection, as no rule of WGSL forbids: a kernel that mixes the index with the lane fails here.
// EMULATED_SIZE divides WORKGROUP_SIZE; both are powers of two; EMULATED_SEED is any number.
@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) id: vec3u, @builtin(local_invocation_index) index: u32) {
  let scrambled = ((index * (2u * EMULATED_SEED + 1u)) ^ EMULATED_SEED) & (WORKGROUP_SIZE - 1u);
  run(Workgroup(id, EMULATED_SIZE, WORKGROUP_SIZE / EMULATED_SIZE),
      Thread(index, scrambled / EMULATED_SIZE, scrambled % EMULATED_SIZE));
}
