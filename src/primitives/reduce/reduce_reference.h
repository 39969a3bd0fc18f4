// SPDX-License-Identifier: Apache-2.0
// What a reduction is: a loop over the items in order. Integers wrap; floats are folded in double, or compared as they
// are. The oracle of the tests; nothing of the kernels' tiles, keys or trees is in here.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "testing/generators.h"
#include "upsweep/operator.h"

namespace upsweep::reference {

/// Folds the items in order behind `start`.
template <typename T, typename Items, typename Op>
T fold(T start, const Items& items, Op op) {
  for (const auto& item : items) start = op(start, item);
  return start;
}

/// One fold per segment [begins[s], ends[s]), with the segment cut off at the end of the items.
template <typename T, typename ReduceSegment>
auto for_each_segment(std::span<const T> items, std::span<const std::uint32_t> begins,
                      std::span<const std::uint32_t> ends, ReduceSegment reduce_segment) {
  std::vector<decltype(reduce_segment(items))> results;
  for (std::size_t s = 0; s < begins.size(); ++s) {
    const std::size_t begin = std::min<std::size_t>(begins[s], items.size());
    const std::size_t end = std::min<std::size_t>(ends[s], items.size());
    results.push_back(reduce_segment(items.subspan(begin, end > begin ? end - begin : 0)));
  }
  return results;
}

/// One fold per row of `row_length` items.
template <typename T, typename ReduceRow>
auto for_each_row(std::span<const T> items, std::size_t row_count, std::size_t row_length, ReduceRow reduce_row) {
  std::vector<decltype(reduce_row(items))> results;
  for (std::size_t row = 0; row < row_count; ++row)
    results.push_back(reduce_row(items.subspan(row * row_length, row_length)));
  return results;
}

template <std::integral T>
double number_of(T item) {
  return static_cast<double>(item);
}
inline double number_of(float item) { return item; }
using testing::number_of;

template <typename T>
inline constexpr bool is_float = std::same_as<T, float> || std::same_as<T, testing::Half>;

template <typename T>
bool is_nan(T item) {
  if constexpr (is_float<T>) return std::isnan(number_of(item));
  return false;
}

template <typename T>
bool is_less(T a, T b) {
  if constexpr (is_float<T>) return number_of(a) < number_of(b);
  if constexpr (!is_float<T>) return a < b;
}

/// A float nearest to the number; 8-byte integers never come through here.
template <typename T>
T rounded(double number) {
  if constexpr (std::same_as<T, float>) return static_cast<float>(number);
  if constexpr (std::same_as<T, testing::Half>) return testing::half_of(static_cast<float>(number));
}

/// A well-known operator over scalars whose result has the items' type: sum, product, min, max, and, or, xor.
template <typename T>
T reduce_to_item(OperatorKind kind, std::span<const T> items) {
  if constexpr (is_float<T>) {
    double total = kind == OperatorKind::product ? 1.0 : 0.0;
    if (kind == OperatorKind::sum || kind == OperatorKind::product) {
      for (const T item : items) total = kind == OperatorKind::sum ? total + number_of(item) : total * number_of(item);
      return rounded<T>(total);
    }
    T best = rounded<T>(kind == OperatorKind::min ? HUGE_VAL : -HUGE_VAL);
    for (const T item : items) {
      if (is_nan(item)) return item;
      if (kind == OperatorKind::min ? is_less(item, best) : is_less(best, item)) best = item;
    }
    return best;
  } else {
    // Unsigned 64-bit arithmetic wraps, and its low bits are those of every narrower type.
    std::uint64_t bits = kind == OperatorKind::product ? 1 : kind == OperatorKind::bit_and ? ~std::uint64_t{0} : 0;
    T best = kind == OperatorKind::min ? std::numeric_limits<T>::max() : std::numeric_limits<T>::lowest();
    for (const T item : items) {
      const auto word = static_cast<std::uint64_t>(item);
      switch (kind) {
        case OperatorKind::sum: bits += word; break;
        case OperatorKind::product: bits *= word; break;
        case OperatorKind::bit_and: bits &= word; break;
        case OperatorKind::bit_or: bits |= word; break;
        case OperatorKind::bit_xor: bits ^= word; break;
        case OperatorKind::min: best = item < best ? item : best; break;
        case OperatorKind::max: best = best < item ? item : best; break;
        default: break;
      }
    }
    return kind == OperatorKind::min || kind == OperatorKind::max ? best : static_cast<T>(bits);
  }
}

/// The same for vectors: each component by itself.
template <typename T, std::size_t N>
std::array<T, N> reduce_to_item(OperatorKind kind, std::span<const std::array<T, N>> items) {
  std::array<T, N> result;
  for (std::size_t c = 0; c < N; ++c) {
    std::vector<T> component;
    component.reserve(items.size());
    for (const auto& item : items) component.push_back(item[c]);
    result[c] = reduce_to_item<T>(kind, component);
  }
  return result;
}

/// argmin, argmax (the lowest index of the best item; the first NaN if there is one; 4294967295 for no items), any,
/// all.
template <typename T>
std::uint32_t reduce_to_word(OperatorKind kind, std::span<const T> items) {
  if (kind == OperatorKind::logical_any || kind == OperatorKind::logical_all) {
    bool any = false;
    bool all = true;
    for (const T item : items) {
      const bool is_true = is_nan(item) || number_of(item) != 0.0;
      any = any || is_true;
      all = all && is_true;
    }
    return kind == OperatorKind::logical_any ? any : all;
  }
  std::uint32_t best = 0xffffffffu;
  for (std::uint32_t i = 0; i < items.size(); ++i) {
    if (is_nan(items[i])) return i;
    const bool is_better = best == 0xffffffffu || (kind == OperatorKind::argmin ? is_less(items[i], items[best])
                                                                                : is_less(items[best], items[i]));
    if (is_better) best = i;
  }
  return best;
}

/// What bounds the error of a float sum.
template <typename T>
double sum_of_magnitudes(std::span<const T> items) {
  double total = 0.0;
  for (const T item : items) total += std::fabs(number_of(item));
  return total;
}

}  // namespace upsweep::reference
