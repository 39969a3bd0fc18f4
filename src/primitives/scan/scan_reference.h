// SPDX-License-Identifier: Apache-2.0
// What a scan is: a walk over the items in order, with a running fold. The oracle of the tests of scans and their
// relatives; nothing of the kernels' tiles, records or trees is in here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "primitives/reduce/reduce_reference.h"
#include "testing/generators.h"
#include "upsweep/operator.h"
#include "upsweep/scan_tuning.h"

namespace upsweep::reference {

/// How a scan goes through its items.
struct Walk {
  bool is_exclusive = false;
  bool is_reversed = false;
  std::vector<bool> heads = {};  ///< Which items begin a segment; empty: only the first does.
};

/// output[i] is what `read` makes of the state after (exclusive: before) item i; `add` puts an item into the state.
/// Each segment begins in the state `start`; reversed, at its last item.
template <typename State, typename Items, typename Add, typename Read>
auto scan(const Items& items, const Walk& walk, const State& start, Add add, Read read) {
  const std::size_t count = std::size(items);
  std::vector<decltype(read(start))> output(count, read(start));
  State state = start;
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t i = walk.is_reversed ? count - 1 - k : k;
    const std::size_t head = walk.is_reversed ? i + 1 : i;
    if (head < walk.heads.size() && walk.heads[head]) state = start;
    if (walk.is_exclusive) output[i] = read(state);
    add(state, items[i]);
    if (!walk.is_exclusive) output[i] = read(state);
  }
  return output;
}

/// The same with an operator a * b of the items' type.
template <typename T>
std::vector<T> scan(std::span<const T> items, const Walk& walk, const T& start) {
  return scan(
      items, walk, start, [](T& state, const T& item) { state = state * item; }, [](const T& state) { return state; });
}

/// Rows of `row_length` items as segments.
inline std::vector<bool> row_heads(std::size_t count, std::size_t row_length) {
  std::vector<bool> heads(count);
  for (std::size_t i = 0; i < count; i += row_length) heads[i] = true;
  return heads;
}

/// Runs of equal neighbours as segments.
template <typename T, typename IsEqual>
std::vector<bool> run_heads(const std::vector<T>& keys, IsEqual is_equal) {
  std::vector<bool> heads(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) heads[i] = i == 0 || !is_equal(keys[i - 1], keys[i]);
  return heads;
}

/// Equality of neighbours by value: NaN equals NaN, -0 equals +0.
template <typename T>
bool is_equal_by_value(const T& a, const T& b) {
  if constexpr (testing::is_vec<T>) {
    for (std::size_t c = 0; c < a.size(); ++c) {
      if (!is_equal_by_value(a[c], b[c])) return false;
    }
    return true;
  } else if constexpr (is_float<T>) {
    return number_of(a) == number_of(b) || (is_nan(a) && is_nan(b));
  } else {
    return a == b;
  }
}

/// The fold of the items seen so far with a well-known operator.
template <typename T>
class Running {
 public:
  explicit Running(OperatorKind kind)
      : kind_(kind),
        number_(kind == OperatorKind::product ? 1.0 : 0.0),
        bits_(kind == OperatorKind::product   ? 1
              : kind == OperatorKind::bit_and ? ~std::uint64_t{0}
                                              : 0) {
    const bool from_above = kind == OperatorKind::min || kind == OperatorKind::argmin;
    if constexpr (is_float<T>) {
      best_ = rounded<T>(from_above ? HUGE_VAL : -HUGE_VAL);
    } else {
      best_ = from_above ? std::numeric_limits<T>::max() : std::numeric_limits<T>::lowest();
    }
  }

  void add(const T& item) {
    const bool is_better =
        kind_ == OperatorKind::min || kind_ == OperatorKind::argmin ? is_less(item, best_) : is_less(best_, item);
    const bool is_first = index_ == no_index;
    if (!is_nan(best_) && (is_nan(item) || is_better)) best_ = item, index_ = seen_;
    // The first item has the lowest index, though no item is better than the value that a fold begins with.
    if (is_first && index_ == no_index) best_ = item, index_ = seen_;
    const bool is_true = is_nan(item) || number_of(item) != 0.0;
    any_ = any_ || is_true;
    all_ = all_ && is_true;
    if constexpr (is_float<T>) {
      number_ = kind_ == OperatorKind::product ? number_ * number_of(item) : number_ + number_of(item);
    } else {
      // Unsigned 64-bit arithmetic wraps, and its low bits are those of every narrower type.
      const auto word = static_cast<std::uint64_t>(item);
      switch (kind_) {
        case OperatorKind::product: bits_ *= word; break;
        case OperatorKind::bit_and: bits_ &= word; break;
        case OperatorKind::bit_or: bits_ |= word; break;
        case OperatorKind::bit_xor: bits_ ^= word; break;
        default: bits_ += word; break;
      }
    }
    ++seen_;
  }

  /// Of sum, product, min, max, and, or, xor.
  [[nodiscard]] T item() const {
    if (kind_ == OperatorKind::min || kind_ == OperatorKind::max) return best_;
    if constexpr (is_float<T>) return rounded<T>(number_);
    if constexpr (!is_float<T>) return static_cast<T>(bits_);
  }
  /// A float sum or product before it is rounded.
  [[nodiscard]] double number() const { return number_; }
  /// Of argmin, argmax, any, all.
  [[nodiscard]] std::uint32_t word() const {
    if (kind_ == OperatorKind::logical_any) return any_;
    if (kind_ == OperatorKind::logical_all) return all_;
    return index_;
  }

 private:
  static constexpr std::uint32_t no_index = 0xffffffffu;

  OperatorKind kind_;
  double number_;
  std::uint64_t bits_;
  T best_;
  std::uint32_t index_ = no_index;
  std::uint32_t seen_ = 0;
  bool any_ = false;
  bool all_ = true;
};

/// Vectors: each component by itself.
template <typename T, std::size_t N>
class Running<std::array<T, N>> {
 public:
  explicit Running(OperatorKind kind) : components_(N, Running<T>(kind)) {}
  void add(const std::array<T, N>& item) {
    for (std::size_t c = 0; c < N; ++c) components_[c].add(item[c]);
  }
  [[nodiscard]] std::array<T, N> item() const {
    std::array<T, N> result;
    for (std::size_t c = 0; c < N; ++c) result[c] = components_[c].item();
    return result;
  }

 private:
  std::vector<Running<T>> components_;
};

/// Running folds of items with a well-known operator; `read` takes them from a Running<T>.
template <typename T, typename Read>
auto scan(OperatorKind kind, std::span<const T> items, const Walk& walk, const std::optional<T>& init, Read read) {
  Running<T> start(kind);
  if (init) start.add(*init);
  return scan(items, walk, start, [](Running<T>& state, const T& item) { state.add(item); }, read);
}

/// Operators whose results have the items' type: sum, product, min, max, and, or, xor.
template <typename T>
std::vector<T> scan_to_items(OperatorKind kind, std::span<const T> items, const Walk& walk,
                             const std::optional<T>& init = std::nullopt) {
  return scan(kind, items, walk, init, [](const Running<T>& state) { return state.item(); });
}

/// argmin, argmax, any, all.
template <typename T>
std::vector<std::uint32_t> scan_to_words(OperatorKind kind, std::span<const T> items, const Walk& walk) {
  return scan(kind, items, walk, std::optional<T>(), [](const Running<T>& state) { return state.word(); });
}

/// Flags as they lie in a buffer: an entry that is not 0 for each flagged item, of any value. What follows the last
/// item in its word is flagged, too, so that a kernel that reads it goes wrong.
inline std::vector<std::byte> packed_flags(FlagFormat format, const std::vector<bool>& flags, testing::Random& random) {
  std::vector<std::byte> bytes(flag_bytes(format, flags.size()), std::byte{0xff});
  for (std::size_t i = 0; i < flags.size(); ++i) {
    switch (format) {
      case FlagFormat::words: {
        const std::uint32_t entry = flags[i] ? 1u << random.below(32) : 0u;
        std::memcpy(&bytes[4 * i], &entry, 4);
        break;
      }
      case FlagFormat::bytes: bytes[i] = flags[i] ? std::byte{1} << random.below(8) : std::byte{0}; break;
      case FlagFormat::bits:
        if (!flags[i]) bytes[i / 8] &= ~(std::byte{1} << (i % 8));
        break;
    }
  }
  return bytes;
}

/// Runs of 1 to `longest` equal items of a few values.
template <typename T>
std::vector<T> random_runs(const std::vector<T>& values, std::size_t count, std::uint32_t longest,
                           testing::Random& random) {
  std::vector<T> items;
  while (items.size() < count) {
    const T value = values[random.below(static_cast<std::uint32_t>(values.size()))];
    for (std::uint32_t left = 1 + random.below(longest); left > 0 && items.size() < count; --left) {
      items.push_back(value);
    }
  }
  return items;
}

/// Flags of which one in `period` is set, at random.
inline std::vector<bool> random_flags(std::size_t count, std::uint32_t period, testing::Random& random) {
  std::vector<bool> flags(count);
  for (std::size_t i = 0; i < count; ++i) flags[i] = random.below(period) == 0;
  return flags;
}

}  // namespace upsweep::reference
