// SPDX-License-Identifier: Apache-2.0
// What a merge sort means, for tests: std::stable_sort of the places that items have.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace upsweep::testing {

/// Where each of the first `count` items of the result was in the input.
template <typename T, typename Less>
std::vector<std::uint32_t> stably_sorted(const std::vector<T>& items, std::size_t count, Less less) {
  std::vector<std::uint32_t> places(count);
  std::iota(places.begin(), places.end(), 0u);
  std::ranges::stable_sort(places, [&](std::uint32_t a, std::uint32_t b) { return less(items[a], items[b]); });
  return places;
}

}  // namespace upsweep::testing
