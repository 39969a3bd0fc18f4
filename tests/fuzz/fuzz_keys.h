// SPDX-License-Identifier: Apache-2.0
// Keys of any kind as bits, drawn from many distributions, and their order as the references of the rooms have it.
#pragma once

#include <cstring>
#include <string_view>

#include "fuzz.h"
#include "primitives/sort/sort_reference.h"

namespace upsweep::fuzz {

struct Keys {
  KeyKind kind = KeyKind::u32;
  std::vector<std::uint64_t> bits;

  [[nodiscard]] Keys part(std::size_t begin, std::size_t end) const {
    return {kind, {bits.begin() + static_cast<std::ptrdiff_t>(begin), bits.begin() + static_cast<std::ptrdiff_t>(end)}};
  }
};

std::string_view name_of(KeyKind kind);
std::uint32_t bytes_of(KeyKind kind);
ElementType type_of(KeyKind kind);
Bytes bytes_of(const Keys& keys);
/// Appends the name of the distribution to `text`.
Keys draw_keys(Random& random, KeyKind kind, std::uint32_t count, std::string& text);

/// Where each key of the sorted array is in `keys`.
std::vector<std::uint32_t> order_of(const Keys& keys, bool descending, std::uint32_t begin_bit = 0,
                                    std::uint32_t end_bit = 0);

/// Calls `visit` with the keys as C++ numbers.
template <typename Visit>
auto with_numbers(const Keys& keys, Visit visit) {
  const Bytes bytes = bytes_of(keys);
  const auto as = [&]<typename T>(T) {
    std::vector<T> numbers(keys.bits.size());
    if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
    return numbers;
  };
  switch (keys.kind) {
    case KeyKind::i32: return visit(as(std::int32_t{}));
    case KeyKind::f32: return visit(as(float{}));
    case KeyKind::f16: return visit(as(testing::Half{}));
    case KeyKind::u64: return visit(as(std::uint64_t{}));
    case KeyKind::i64: return visit(as(std::int64_t{}));
    case KeyKind::f64: return visit(as(double{}));
    case KeyKind::u32: break;
  }
  return visit(as(std::uint32_t{}));
}

/// Puts item `source + order[i]` of `items` at place `first + i` of `result`.
inline void gather(Bytes& result, const Bytes& items, std::size_t stride, const std::vector<std::uint32_t>& order,
                   std::size_t first = 0, std::size_t source = 0) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::memcpy(result.data() + (first + i) * stride, items.data() + (source + order[i]) * stride, stride);
  }
}

}  // namespace upsweep::fuzz
