// sparse_row_offsets: where each row begins among entries with ascending rows. Each entry says it for the rows after
// that of the entry before it, up to its own; an end entry for the rows behind all. More than FEW_ROWS at once are
// queued, and all threads write them together.
//
// Prelude gives  WORKGROUP_SIZE
// Parts give     entry_count (generated), tile_index (grid)
struct RowOffsetsParams {
  entry_count: u32,  // or the most that the device may say
  row_count: u32,
  rows_first: u32,
  offsets_first: u32,
  count_first: u32,
  grid_width: u32,
  grid_height: u32,
}

const FEW_ROWS = 16u;

@group(0) @binding(0) var<uniform> params: RowOffsetsParams;
@group(0) @binding(1) var<storage, read> rows: array<u32>;
@group(0) @binding(2) var<storage, read_write> offsets: array<u32>;

struct Gap {
  first: u32,  // rows, and one past the last
  end: u32,
  offset: u32,
}

var<workgroup> gaps: array<Gap, WORKGROUP_SIZE>;
var<workgroup> gap_count: atomic<u32>;
var<workgroup> queued: u32;

fn run(workgroup: Workgroup, thread: Thread) {
  let entry = tile_index(workgroup.id, params.grid_width, params.grid_height) * WORKGROUP_SIZE + thread.index;
  let count = entry_count();
  if (entry <= count) {
    var first = 0u;
    if (entry > 0u) { first = min(rows[params.rows_first + entry - 1u], params.row_count) + 1u; }
    var end = params.row_count + 1u;
    if (entry < count) { end = min(rows[params.rows_first + entry], params.row_count) + 1u; }
    if (end > first && end - first > FEW_ROWS) {
      // Gaps are apart from each other: their order does not matter.
      gaps[atomicAdd(&gap_count, 1u)] = Gap(first, end, entry);
    } else {
      for (var row = first; row < end; row++) { offsets[params.offsets_first + row] = entry; }
    }
  }
  workgroupBarrier();  // the queue is complete
  if (thread.index == 0u) { queued = atomicLoad(&gap_count); }
  let gap_total = workgroupUniformLoad(&queued);
  for (var i = 0u; i < gap_total; i++) {
    let gap = gaps[i];
    for (var row = gap.first + thread.index; row < gap.end; row += WORKGROUP_SIZE) {
      offsets[params.offsets_first + row] = gap.offset;
    }
  }
}
