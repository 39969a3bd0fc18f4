// Cells of the channels in CHANNEL_MASK, one channel after the other.
fn cell_of(bin: u32, position: u32) -> u32 {
  let channel = (position - params.input_first) % CHANNELS;
  let is_wanted = ((CHANNEL_MASK >> channel) & 1u) == 1u && bin < params.bin_count;
  let rank = countOneBits(CHANNEL_MASK & ((1u << channel) - 1u));
  return select(NO_CELL, rank * params.channel_cells + bin, is_wanted);
}
