// item_count() for control flow with barriers: a compiler does not take words of a buffer that is written, too, for the
// same in all threads.
var<workgroup> shared_item_count: u32;

fn uniform_item_count(thread: Thread) -> u32 {
  if (thread.index == 0u) { shared_item_count = item_count(); }
  return workgroupUniformLoad(&shared_item_count);
}
