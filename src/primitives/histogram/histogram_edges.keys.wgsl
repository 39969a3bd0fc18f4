// Edges as keys: a sample is not below an edge if its key is not less. What is counted is known on the host.
@group(0) @binding(3) var<storage, read> edges: array<u32>;

fn edge_key(edge: u32) -> u32 { return edges[params.edges_first + edge]; }

fn is_counted(key: u32) -> bool { return key - params.first_key <= params.key_span; }
