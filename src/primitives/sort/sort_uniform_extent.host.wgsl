// item_count() for control flow with barriers.
fn uniform_item_count(thread: Thread) -> u32 { return item_count(); }
