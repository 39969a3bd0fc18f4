// Of the first digit every key of the input counts.
fn begin_count() {}
fn is_counted(bits: Key) -> bool { return true; }
fn count_sources(group: u32, thread: Thread) { count_input(item_count(), group, thread); }
