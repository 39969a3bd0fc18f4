// One pass: every workgroup publishes its chunk's total in state memory and takes a number; the one with the last number
// folds all totals, always in the same order.
//
// No order between memory locations is relied on (WGSL atomics are relaxed): each word of a record holds 16 bits of
// the total beside the tag of this run, so a word that shows the tag is this run's. Should the last workgroup still miss
// a record after POLL_ROUNDS looks, it computes that chunk itself. It waits for nobody who has yet to start.
//
// The last workgroup leaves the state fit for the next run: number 0, next tag. A tag is used again only after all
// records have been cleared.
@group(0) @binding(10) var<storage, read_write> state: array<atomic<u32>>;

const STATE_ARRIVED = 0u;
const STATE_RUN = 1u;
const STATE_RECORDS = 8u;
const POLL_ROUNDS = 16u;

struct Record {
  value: Accumulator,
  is_complete: bool,
}

var<workgroup> broadcast: u32;
var<workgroup> least_missing: atomic<u32>;

// Before the chunk is read, so that the wait for the tag is hidden. Only thread 0 gets it; it is never 0.
fn start_chunk(thread: Thread) -> u32 {
  if (thread.index != 0u) { return 0u; }
  atomicStore(&least_missing, params.chunks_per_row);  // workgroup_reduce has the barrier
  return (atomicLoad(&state[STATE_RUN]) + 1u) << 16u;
}

fn finish_chunk(chunk: u32, total: Accumulator, own_tag: u32, thread: Thread, workgroup: Workgroup) {
  let chunk_count = params.chunks_per_row;
  if (thread.index == 0u) {
    broadcast = 0u;
    if (chunk < chunk_count) {
      if (!is_hidden(chunk)) {
        publish(chunk, total, own_tag);
      }
      if (atomicAdd(&state[STATE_ARRIVED], 1u) + 1u == chunk_count) {
        broadcast = own_tag;
      }
    }
  }
  let tag = workgroupUniformLoad(&broadcast);
  if (tag == 0u) { return; }

  var folded = identity();
  // Ends: after POLL_ROUNDS looks each further round completes one record.
  for (var round = 0u; ; round++) {
    folded = identity();
    for (var first = thread.index; first < chunk_count; first += WORKGROUP_SIZE * RECORDS_PER_THREAD) {
      folded = combine(folded, gather_records(first, chunk_count, tag));
    }
    workgroupBarrier();  // all have looked
    if (thread.index == 0u) {
      broadcast = atomicLoad(&least_missing);
      atomicStore(&least_missing, chunk_count);
    }
    let missing = workgroupUniformLoad(&broadcast);
    if (missing == chunk_count) { break; }
    if (round >= POLL_ROUNDS) {
      let value = workgroup_reduce(fold_range(chunk_range(missing), thread), thread, workgroup);
      if (thread.index == 0u) {
        publish(missing, value, tag);
      }
      storageBarrier();    // the record is visible to the workgroup
      workgroupBarrier();  // workgroup_reduce may be used again
    }
  }

  let result = workgroup_reduce(folded, thread, workgroup);
  // The tag in front of the last one is followed by 1 again: then no old record may be left.
  let is_last_tag = tag == 0xffff0000u;
  if (is_last_tag) {
    for (var word = STATE_RECORDS + thread.index; word < arrayLength(&state); word += WORKGROUP_SIZE) {
      atomicStore(&state[word], 0u);
    }
  }
  if (thread.index == 0u) {
    store_total(params.output_first, result);
    atomicStore(&state[STATE_RUN], select(tag >> 16u, 0u, is_last_tag));
    atomicStore(&state[STATE_ARRIVED], 0u);
  }
}
