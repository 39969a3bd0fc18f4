// SPDX-License-Identifier: Apache-2.0
// What a merge means, for tests: std::merge of the places that items have, those of the left range first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <vector>

namespace upsweep::testing {

/// Where each item of the result was: in the left range, or behind it in the right one.
template <typename T, typename Less>
std::vector<std::uint32_t> merged_places(const std::vector<T>& left, const std::vector<T>& right, Less less) {
  const auto item = [&](std::uint32_t place) -> const T& {
    return place < left.size() ? left[place] : right[place - left.size()];
  };
  std::vector<std::uint32_t> places(left.size() + right.size());
  std::iota(places.begin(), places.end(), 0u);
  const auto middle = places.begin() + static_cast<std::ptrdiff_t>(left.size());
  std::vector<std::uint32_t> merged;
  std::merge(places.begin(), middle, middle, places.end(), std::back_inserter(merged),
             [&](std::uint32_t a, std::uint32_t b) { return less(item(a), item(b)); });
  return merged;
}

/// Items of both ranges at such places.
template <typename T>
std::vector<T> gathered(const std::vector<T>& left, const std::vector<T>& right,
                        const std::vector<std::uint32_t>& places) {
  std::vector<T> result;
  for (const std::uint32_t place : places) {
    result.push_back(place < left.size() ? left[place] : right[place - left.size()]);
  }
  return result;
}

}  // namespace upsweep::testing
