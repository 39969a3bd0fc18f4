@compute @workgroup_size(64)
fn main(@builtin(num_workgroups) grid: vec3u) {}
