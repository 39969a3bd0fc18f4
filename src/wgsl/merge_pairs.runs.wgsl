// Ranges to merge: neighbouring sorted runs of one array. The last run of an odd number stands alone.
fn pair_of(number: u32, counts: vec2u) -> Pair {
  let begin = min(number * 2u * params.run_items, counts.x);
  let middle = begin + min(params.run_items, counts.x - begin);
  let end = middle + min(params.run_items, counts.x - middle);
  return Pair(begin, middle - begin, middle, end - middle, begin);
}
