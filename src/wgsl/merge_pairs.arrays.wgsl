// Ranges to merge: two sorted arrays.
fn pair_of(number: u32, counts: vec2u) -> Pair { return Pair(0u, counts.x, 0u, counts.y, 0u); }
