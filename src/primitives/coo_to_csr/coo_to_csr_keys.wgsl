// coo_to_csr_keys: one key of row and column for each entry, to sort by. A thread an entry.
//
// Prelude gives  WORKGROUP_SIZE
// Parts give     params (coo_to_csr_params), entry_total, begin_rows, row_of, make_key, store_value (generated),
//                tile_index (grid)
@group(0) @binding(1) var<storage, read> columns: array<u32>;
@group(0) @binding(2) var<storage, read_write> keys_out: array<Key>;

fn run(workgroup: Workgroup, thread: Thread) {
  let first = tile_index(workgroup.id, params.grid_width, params.grid_height) * WORKGROUP_SIZE;
  let count = entry_total();
  begin_rows(first, thread);
  let entry = first + thread.index;
  if (entry >= count) { return; }
  keys_out[entry] = make_key(row_of(entry), columns[params.columns_first + entry]);
  store_value(entry);
}
