// Scan of a tile's units whose rows hold plain prefix sums while tiles exchange segmented ones (plan/tile_segments.h).
// scan_rows() is generated. Barrier before reuse.
struct TileTotal {
  before: Accumulator,  // plain: all that the subgroups before hold, whatever runs begin there
  total: Accumulator,   // segmented: the sum from the last head on
  rows: Rows,
}

var<workgroup> subgroup_sums: array<SubgroupSums, SUBGROUP_SLOTS>;

fn total_tile(rows: Rows, thread: Thread, workgroup: Workgroup) -> TileTotal {
  let scanned = scan_rows(rows, thread, workgroup);
  if (thread.lane == 0u) {
    subgroup_sums[thread.subgroup] = scanned.total;
  }
  workgroupBarrier();  // one value a subgroup is stored
  let size = workgroup.subgroup_size;
  var before = identity();
  var all = SubgroupSums(no_value(), 0u, no_value());
  for (var first = 0u; first < workgroup.subgroup_count; first += size) {
    let slot = first + thread.lane;
    let is_there = slot < workgroup.subgroup_count;
    let own = subgroup_sums[min(slot, SUBGROUP_SLOTS - 1u)];
    let own_sum = select(no_value(), own.sum, is_there);
    let own_heads = select(0u, own.heads, is_there);
    let sums = all.sum + subgroupInclusiveAdd(own_sum);
    let heads = all.heads + subgroupInclusiveAdd(own_heads);
    // The last subgroup with heads, + 1.
    let owner = subgroupMax(select(0u, thread.lane + 1u, own_heads != 0u));
    let to_head = subgroupShuffle(sums - own_sum + own.to_head, max(owner, 1u) - 1u);
    let left = clamp(thread.subgroup, first + 1u, first + size) - first - 1u;
    let left_sum = subgroupShuffle(sums, left);
    let left_heads = subgroupShuffle(heads, left);
    before = choose(before, Accumulator(left_sum, left_heads), thread.subgroup > first);
    all = SubgroupSums(subgroupShuffle(sums, size - 1u), subgroupShuffle(heads, size - 1u),
                       select(all.to_head, to_head, owner != 0u));
  }
  return TileTotal(before, Accumulator(all.sum - all.to_head, all.heads), scanned.before);
}

// For each unit the sum and the heads before it in its subgroup.
fn scan_tile(rows: Rows, total: TileTotal, thread: Thread, workgroup: Workgroup) -> Rows {
  return total.rows;
}
