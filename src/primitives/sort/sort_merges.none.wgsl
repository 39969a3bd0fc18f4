// No segment is longer than a run.
fn clear_runs(thread: Thread) {}
fn list_runs(job: Job, thread: Thread) {}
fn listed_runs() -> u32 { return 0u; }
fn listed_range(slot: u32) -> Range { return Range(); }
fn merge_runs(thread: Thread) {}
