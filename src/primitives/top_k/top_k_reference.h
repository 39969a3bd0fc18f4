// SPDX-License-Identifier: Apache-2.0
// What a top-k means, for tests: the first items of std::stable_sort.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "primitives/sort/sort_reference.h"
#include "upsweep/top_k.h"

namespace upsweep::testing {

/// Where each item of the result is in the input, in the order of a sort whatever the shape's.
template <typename Key>
std::vector<std::uint32_t> first_of_sort(const std::vector<Key>& keys, std::size_t k, bool largest) {
  auto indices = sorted_indices(keys, SortShape{.descending = largest});
  indices.resize(std::min(k, indices.size()));
  return indices;
}

/// The key as a threshold is written: zeros positive, NaN quiet and without payload.
template <typename Key>
Key threshold_of(Key key) {
  if constexpr (std::is_same_v<Key, Half>) {
    if ((key.bits & 0x7fff) > 0x7c00) return {0x7e00};
    return (key.bits & 0x7fff) == 0 ? Half{0} : key;
  } else if constexpr (std::is_floating_point_v<Key>) {
    using Word = std::conditional_t<sizeof(Key) == 4, std::uint32_t, std::uint64_t>;
    if (std::isnan(key)) return std::bit_cast<Key>(sizeof(Key) == 4 ? Word{0x7fc00000} : Word{0x7ff80000} << 32);
    constexpr Word magnitude = std::numeric_limits<Word>::max() >> 1;
    return (std::bit_cast<Word>(key) & magnitude) == 0 ? Key{0} : key;
  } else {
    return key;
  }
}

}  // namespace upsweep::testing
