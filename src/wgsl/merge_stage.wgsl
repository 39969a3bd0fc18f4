// A tile of keys in workgroup memory, and where each of its items came from: 16 bits an item, since a tile has at most
// 65536. Each thread has ITEMS_PER_THREAD neighbouring places; their number is odd, so that threads that take the same
// step meet in different banks.
//
// Prelude gives  TILE_ITEMS, ITEMS_PER_THREAD
var<workgroup> stage_keys: array<RawKey, TILE_ITEMS>;

const LAST_PLACE = TILE_ITEMS - 1u;

// How many of the first `diagonal` items of two merged ranges of the stage are of the left one.
fn split_stage(left_first: u32, left_count: u32, right_first: u32, right_count: u32, diagonal: u32) -> u32 {
  var low = max(diagonal, right_count) - right_count;
  var high = min(diagonal, left_count);
  while (low < high) {
    let middle = (low + high) / 2u;
    if (comes_before(stage_keys[right_first + diagonal - 1u - middle], stage_keys[left_first + middle])) {
      high = middle;
    } else {
      low = middle + 1u;
    }
  }
  return low;
}
