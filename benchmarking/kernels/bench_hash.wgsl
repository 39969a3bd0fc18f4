// The hash that makes inputs (benchmarking/input.h); params give the seed.
fn hash(i: u32) -> u32 {
  var h = i * 2654435761u + params.seed;
  h = (h ^ (h >> 15u)) * 2246822519u;
  h = (h ^ (h >> 13u)) * 3266489917u;
  return h ^ (h >> 16u);
}
