// coo_to_csr_split: sorted keys become rows and columns again. A thread an entry.
//
// Prelude gives  WORKGROUP_SIZE
// Parts give     params (coo_to_csr_params), entry_total, store_count, greater_part, lesser_part, store_value
//                (generated), tile_index (grid)
@group(0) @binding(1) var<storage, read> keys_in: array<Key>;
@group(0) @binding(2) var<storage, read_write> rows_out: array<u32>;
@group(0) @binding(3) var<storage, read_write> columns_out: array<u32>;

fn run(workgroup: Workgroup, thread: Thread) {
  let entry = tile_index(workgroup.id, params.grid_width, params.grid_height) * WORKGROUP_SIZE + thread.index;
  let count = entry_total();
  if (entry == 0u) { store_count(count); }
  if (entry >= count) { return; }
  let key = keys_in[entry];
  rows_out[entry] = greater_part(key);
  columns_out[params.columns_first + entry] = lesser_part(key);
  store_value(entry, count);
}
