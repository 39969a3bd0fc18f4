// The first digit: the search begins.
fn start_search() -> Start { return Start(min(wanted_count(), item_count()), Key()); }

// `found` keys would be candidates.
fn note_lengths(rank: u32, found: u32) {
  let length = select(item_count(), 0u, rank == 0u);
  let fits = found <= params.capacity;
  search[RESULT_COUNT] = rank;
  search[INPUT_LENGTH] = select(length, 0u, fits);
  search[CANDIDATE_LENGTH] = select(0u, found, fits);
  search[GATHER_LENGTH] = select(0u, length, fits);
  store_count(rank);
}
