// check_element: how many items of the caller's type fit into a buffer of known size.
struct CheckParams {
  unused: u32,
}

@group(0) @binding(0) var<uniform> params: CheckParams;
@group(0) @binding(1) var<storage, read_write> items: array<Element>;
@group(0) @binding(2) var<storage, read_write> output: array<u32>;

fn run(workgroup: Workgroup, thread: Thread) {
  output[0] = arrayLength(&items) + params.unused;
}
