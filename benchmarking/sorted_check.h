// SPDX-License-Identifier: Apache-2.0
// Whether keys are those of an input in order; no device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "benchmarking/input.h"

namespace upsweep::bench {

// Spreads the bits of a key, so that the sum over a multiset tells it from others.
constexpr std::uint64_t mixed(std::uint64_t key) {
  key = (key ^ (key >> 31)) * 0x7fb5d329728ea185u;
  key = (key ^ (key >> 27)) * 0x81dadef4bc2dd44du;
  return key ^ (key >> 33);
}

// Sorted, and the same keys as the input: by the sum of their mixed bits. With values that number the items each key is
// that of its number and pairs ascend, so that no item is missing and equal keys have kept their order. The same for
// each segment where there are segments, of `segment_items` on average.
template <typename Key, typename InputKey>
class SortedCheck {
 public:
  SortedCheck(std::uint64_t item_count, std::uint64_t segment_items, InputKey input_key)
      : item_count_(item_count), segment_items_(segment_items), input_key_(std::move(input_key)) {}

  // The next keys, and the values beside them, if there are any.
  void take(std::span<const Key> keys, std::span<const std::uint32_t> values) {
    for (std::size_t i = 0; i < keys.size() && is_right_; ++i) {
      is_right_ = take_one(keys[i], values.empty() ? nullptr : &values[i]);
    }
  }

  // After the last one.
  [[nodiscard]] bool is_right() const { return is_right_ && next_ == item_count_ && sum_ == wanted_; }

 private:
  bool take_one(Key key, const std::uint32_t* value) {
    const bool is_first = next_ == segment_end_;
    if (is_first) {
      if (next_ == item_count_ || sum_ != wanted_) return false;
      begin_segment();
    }
    if (!is_first && key < last_key_) return false;
    if (value != nullptr) {
      if (*value >= item_count_ || input_key_(*value) != key) return false;
      if (!is_first && key == last_key_ && *value <= last_value_) return false;
      last_value_ = *value;
    }
    sum_ += mixed(key);
    wanted_ += mixed(input_key_(static_cast<std::uint32_t>(next_)));
    last_key_ = key;
    ++next_;
    return true;
  }

  void begin_segment() {
    segment_end_ = item_count_;
    if (segment_items_ == 0) return;
    do {
      segment_end_ = segment_begin(++segment_, segment_items_, item_count_);
    } while (segment_end_ == next_);
  }

  std::uint64_t item_count_;
  std::uint64_t segment_items_;
  InputKey input_key_;
  std::uint64_t next_ = 0;
  std::uint64_t sum_ = 0;     // of the segment so far
  std::uint64_t wanted_ = 0;  // the same of the input
  std::uint64_t segment_end_ = 0;
  std::uint64_t segment_ = 0;
  Key last_key_ = 0;
  std::uint32_t last_value_ = 0;
  bool is_right_ = true;
};

}  // namespace upsweep::bench
