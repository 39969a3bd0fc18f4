// Params of the kernel that sorts windows.
struct WindowParams {
  begin_bit: u32,
  end_bit: u32,
  write_keys: u32,
  keys_first: u32,
  values_first: u32,
  output_keys_first: u32,
  output_values_first: u32,
  begins_first: u32,
  ends_first: u32,
  shortest: u32,       // smaller segments are another step's
  windows_first: u32,  // in lists
  jobs_first: u32,     // in lists; 0: every window is one
  job_counter: u32,    // in lists
  most_jobs: u32,
  workgroup_count: u32,
  grid_width: u32,
  grid_height: u32,
}

@group(0) @binding(0) var<uniform> params: WindowParams;
