// Without && and ||: a software adapter compiles the branches of a scan of triples for seconds.

// (key, index): the lesser key, among equals the lesser index.
fn lesser_pair(a: vec2u, b: vec2u) -> vec2u {
  return select(a, b, (b.x < a.x) | ((b.x == a.x) & (b.y < a.y)));
}

// (high key, low key, index, 0) likewise.
fn lesser_triple(a: vec4u, b: vec4u) -> vec4u {
  let less_key = (b.x < a.x) | ((b.x == a.x) & (b.y < a.y));
  let same_key = all(b.xy == a.xy);
  return select(a, b, less_key | (same_key & (b.z < a.z)));
}
