// csr_conversion_copy: entries go to the places of another format. A thread a place; of halves, the thread of an even
// place stores a word.
//
// Prelude gives  WORKGROUP_SIZE, NO_SOURCE
// Parts give     params (csr_conversion_params), begin_places, place_of, place_total, source_of
//                (csr_conversion_places.*), store_value (generated), tile_index (grid)
@group(0) @binding(1) var<storage, read> columns: array<u32>;
@group(0) @binding(2) var<storage, read_write> result_columns: array<u32>;

fn run(workgroup: Workgroup, thread: Thread) {
  let group = tile_index(workgroup.id, params.grid_width, params.grid_height);
  begin_places(group, thread);
  let place = place_of(group, thread);
  let total = place_total();
  if (place >= total) { return; }
  let source = source_of(place);
  var column = 0xffffffffu;  // that of unused slots
  if (source != NO_SOURCE) { column = columns[params.columns_first + source]; }
  result_columns[params.result_columns_first + place] = column;
  store_value(place, source, total);
}
