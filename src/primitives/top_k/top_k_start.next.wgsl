// Another digit: the search goes on. Nothing wanted stays so, since the first digit found no keys then.
fn start_search() -> Start {
  return Start(select(search[RANK], 0u, search[RESULT_COUNT] == 0u), key_of_words(search[LOW], search[LOW + 1u]));
}
fn note_lengths(rank: u32, found: u32) {}
