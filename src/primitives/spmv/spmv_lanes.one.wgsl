// A thread a row: nothing to fold.
fn thread_rank(thread: Thread, workgroup: Workgroup) -> u32 { return thread.index; }
fn fold_lanes(sum: f32, rank: u32, workgroup: Workgroup) -> f32 { return sum; }
