// bench_read: sums 16-byte loads, eight in flight a thread, and stores one word a workgroup, which the host checks: so
// no load can be left out. A workgroup reads runs of TILE_UNITS that follow each other.
struct ReadParams {
  unit_count: u32,
  workgroup_count: u32,
  grid_width: u32,
  grid_height: u32,
}

@group(0) @binding(0) var<uniform> params: ReadParams;
@group(0) @binding(1) var<storage, read> input: array<vec4u>;
@group(0) @binding(2) var<storage, read_write> output: array<u32>;

fn combine(a: u32, b: u32) -> u32 { return a + b; }

fn run(workgroup: Workgroup, thread: Thread) {
  let index = tile_index(workgroup.id, params.grid_width, params.grid_height);
  let is_real = index < params.workgroup_count;
  let tile_count = select(0u, params.unit_count / TILE_UNITS, is_real);
  var sum = vec4u();
  for (var tile = index; tile < tile_count; tile += params.workgroup_count) {
    let unit = tile * TILE_UNITS + thread.index;
    let v0 = input[unit];
    let v1 = input[unit + WORKGROUP_SIZE];
    let v2 = input[unit + 2u * WORKGROUP_SIZE];
    let v3 = input[unit + 3u * WORKGROUP_SIZE];
    let v4 = input[unit + 4u * WORKGROUP_SIZE];
    let v5 = input[unit + 5u * WORKGROUP_SIZE];
    let v6 = input[unit + 6u * WORKGROUP_SIZE];
    let v7 = input[unit + 7u * WORKGROUP_SIZE];
    sum += ((v0 + v1) + (v2 + v3)) + ((v4 + v5) + (v6 + v7));
  }
  // The units after the last whole tile are the first workgroup's.
  let end = select(0u, params.unit_count, index == 0u);
  for (var unit = params.unit_count / TILE_UNITS * TILE_UNITS + thread.index; unit < end; unit += WORKGROUP_SIZE) {
    sum += input[unit];
  }
  let total = workgroup_reduce((sum.x + sum.y) + (sum.z + sum.w), thread, workgroup);
  if (thread.index == 0u && is_real) {
    output[index] = total;
  }
}
