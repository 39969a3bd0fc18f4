// Where a tile's ranges begin and end, as merge_splits has found it.
@group(0) @binding(7) var<storage, read_write> splits: array<u32>;

fn tile_counts() -> vec2u { return vec2u(splits[0], splits[1]); }

// The splits of a tile whose outputs are those from `begin` to `end` of its pair.
fn tile_splits(tile: u32, pair: Pair, begin: u32, end: u32, thread: Thread) -> vec2u {
  let next = splits[2u + min(tile + 1u, params.tile_count - 1u)];
  // The last tile of a pair ends with it; the next split is another pair's.
  return vec2u(splits[2u + tile], select(next, pair.left_count, end == pair.left_count + pair.right_count));
}
