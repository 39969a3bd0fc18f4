// SPDX-License-Identifier: Apache-2.0
// A thin front for programs that have arrays, not buffers: upload, run, read back. Every call waits.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "upsweep/context.h"
#include "upsweep/reduce.h"

namespace upsweep::host {

/// The element type of a C++ number.
template <typename T>
[[nodiscard]] ElementType element_of() {
  if constexpr (std::is_same_v<T, std::uint32_t>) return ElementType::u32();
  if constexpr (std::is_same_v<T, std::int32_t>) return ElementType::i32();
  if constexpr (std::is_same_v<T, float>) return ElementType::f32();
  if constexpr (std::is_same_v<T, std::uint64_t>) return ElementType::u64();
  if constexpr (std::is_same_v<T, std::int64_t>) return ElementType::i64();
  static_assert(std::is_same_v<T, std::uint32_t> || std::is_same_v<T, std::int32_t> || std::is_same_v<T, float> ||
                    std::is_same_v<T, std::uint64_t> || std::is_same_v<T, std::int64_t>,
                "no built-in element type for this C++ type");
}

/// Runs a reduction of any shape over packed bytes of items; the results packed, one per segment. `second_input` is
/// empty unless the shape has one. Segments by offsets are not offered here.
[[nodiscard]] Result<std::vector<std::byte>> reduce_bytes(Context& context, const ReduceShape& shape,
                                                          std::span<const std::byte> input,
                                                          std::span<const std::byte> second_input = {});

/// Folds the items with a well-known operator; T is std::uint32_t, std::int32_t, float, std::uint64_t or std::int64_t.
/// The result is a T (std::uint32_t for argmin, argmax, any and all: read it with reduce<T, std::uint32_t>).
template <typename T, typename R = T>
[[nodiscard]] Result<R> reduce(Context& context, std::span<const T> items,
                               const BinaryOperator& combine = BinaryOperator::sum()) {
  const ReduceShape shape{.item_count = Count::on_host(items.size()), .input = element_of<T>(), .combine = combine};
  auto bytes = reduce_bytes(context, shape, std::as_bytes(items));
  if (!bytes) return std::unexpected(bytes.error());
  if (bytes->size() != sizeof(R)) {
    return fail(ErrorKind::invalid_request, "The operator's result has another size than the type asked for.");
  }
  R result;
  std::memcpy(&result, bytes->data(), sizeof(R));
  return result;
}

}  // namespace upsweep::host
