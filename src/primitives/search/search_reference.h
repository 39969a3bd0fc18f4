// SPDX-License-Identifier: Apache-2.0
// What a search means, for tests: std::lower_bound and std::upper_bound.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "upsweep/search.h"

namespace upsweep::testing {

template <typename T, typename Less>
std::vector<std::uint32_t> found_positions(const std::vector<T>& items, const std::vector<T>& queries,
                                           SearchBound bound, Less less) {
  std::vector<std::uint32_t> positions;
  for (const T& query : queries) {
    const auto found = bound == SearchBound::lower ? std::lower_bound(items.begin(), items.end(), query, less)
                                                   : std::upper_bound(items.begin(), items.end(), query, less);
    positions.push_back(static_cast<std::uint32_t>(found - items.begin()));
  }
  return positions;
}

}  // namespace upsweep::testing
