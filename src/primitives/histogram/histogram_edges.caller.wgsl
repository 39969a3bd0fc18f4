// The caller's edges: f32 or integers, as words.
@group(0) @binding(3) var<storage, read> edges: array<u32>;

fn edge_key(edge: u32) -> u32 { return lower_key(edges[params.edges_first + edge]); }

fn is_counted(key: u32) -> bool {
  return key >= edge_key(0u) && key <= upper_key(edges[params.edges_first + params.bin_count]);
}
