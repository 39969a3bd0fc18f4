// SPDX-License-Identifier: Apache-2.0
// What a sort means, for tests: std::stable_sort with an order by value, or by a range of bits.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <vector>

#include "testing/generators.h"
#include "testing/orders_for_tests.h"
#include "upsweep/sort.h"

namespace upsweep::testing {

/// The bits of integer keys as an unsigned number that compares alike.
template <typename Key>
std::uint64_t ordered_number(Key key) {
  using Unsigned = std::make_unsigned_t<Key>;
  constexpr Unsigned flip = std::is_signed_v<Key> ? Unsigned{1} << (sizeof(Key) * 8 - 1) : Unsigned{0};
  return static_cast<Unsigned>(static_cast<Unsigned>(key) + flip);
}

/// Where each item of the result was in the input.
template <typename Key>
std::vector<std::uint32_t> sorted_indices(const std::vector<Key>& keys, const SortShape& shape) {
  std::vector<std::uint32_t> indices(keys.size());
  std::iota(indices.begin(), indices.end(), 0u);
  const auto sort_by = [&](auto before) {
    std::ranges::stable_sort(indices, [&](std::uint32_t a, std::uint32_t b) {
      return shape.descending ? before(keys[b], keys[a]) : before(keys[a], keys[b]);
    });
  };
  if constexpr (std::is_integral_v<Key>) {
    if (shape.begin_bit != 0 || shape.end_bit != 0) {
      const std::uint32_t end = shape.end_bit == 0 ? sizeof(Key) * 8 : shape.end_bit;
      const std::uint64_t mask = end - shape.begin_bit == 64 ? ~0ull : (1ull << (end - shape.begin_bit)) - 1;
      const auto digits = [&](Key key) { return (ordered_number(key) >> shape.begin_bit) & mask; };
      sort_by([&](Key a, Key b) { return digits(a) < digits(b); });
      return indices;
    }
  }
  sort_by([](const Key& a, const Key& b) { return is_less_by_value(a, b); });
  return indices;
}

template <typename T>
std::vector<T> gathered(const std::vector<T>& items, const std::vector<std::uint32_t>& indices) {
  std::vector<T> result;
  for (const std::uint32_t index : indices) result.push_back(items[index]);
  return result;
}

}  // namespace upsweep::testing
