// SPDX-License-Identifier: Apache-2.0
// The hash that all inputs of the benchmarks are made of. Nothing but the standard library: peers include it, too.
#pragma once

#include <cstdint>

namespace upsweep::bench {

constexpr std::uint32_t input_seed = 1;

constexpr std::uint32_t input_hash(std::uint32_t i, std::uint32_t seed = input_seed) {
  std::uint32_t h = i * 2654435761u + seed;
  h = (h ^ (h >> 15)) * 2246822519u;
  h = (h ^ (h >> 13)) * 3266489917u;
  return h ^ (h >> 16);
}

}  // namespace upsweep::bench
