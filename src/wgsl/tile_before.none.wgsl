// A row is one chunk.
fn fold_chunks(first: u32, count: u32, thread: Thread, workgroup: Workgroup) -> Accumulator { return identity(); }
