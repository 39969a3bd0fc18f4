// Of the other digits those keys count that begin with the digits found so far.
@group(0) @binding(4) var<storage, read> search: array<u32>;

var<private> low: Key;
var<private> high: Key;

fn begin_count() {
  low = key_of_words(search[LOW], search[LOW + 1u]);
  high = key_of_words(search[HIGH], search[HIGH + 1u]);
}
fn is_counted(bits: Key) -> bool { return !is_less(bits, low) && !is_less(high, bits); }
fn count_sources(group: u32, thread: Thread) {
  count_input(search[INPUT_LENGTH], group, thread);
  count_candidates(search[CANDIDATE_LENGTH], group, thread);
}
