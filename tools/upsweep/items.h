// SPDX-License-Identifier: Apache-2.0
// The items of a .npy file as the device gets them, window by window.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "commands.h"
#include "npy.h"
#include "number.h"
#include "upsweep/element.h"
#include "upsweep/operator.h"

namespace upsweep::cli {

// What the host makes of each item.
enum class Preparation : std::uint8_t {
  widen,      // exactly, to `dtype`; nothing to do if the file has it
  round,      // f8 to f4
  truth,      // f8 to 1 if it is not zero (NaN is not), else 0, as u4
  order_min,  // f8 to u8 keys of the same order, NaN below all
  order_max,  // the same with NaN above all
};

class Items {
 public:
  // Chooses the item type for the operator. `round_to_f4`: as if the file held f4.
  static Expected<Items> open(const std::string& path, OperatorKind op, bool round_to_f4);
  // For comparisons of neighbours: f8 items become keys, equal where the values are; NaN equals NaN.
  static Expected<Items> open_to_compare(const std::string& path, bool round_to_f4 = false) {
    return open(path, OperatorKind::argmin, round_to_f4);
  }
  // For WGSL text of the user's, given in `option`, that sees the items.
  static Expected<Items> open_for_text(const std::string& path, std::string_view option, bool round_to_f4);
  // For devices without f16.
  void widen_f16();

  [[nodiscard]] const npy::Array& array() const { return array_; }
  // Of the results: that of the file, or f4 after rounding.
  [[nodiscard]] npy::Dtype dtype() const { return dtype_; }
  [[nodiscard]] const ElementType& type() const { return type_; }
  // Whether the device sees keys instead of values.
  [[nodiscard]] bool has_keys() const {
    return preparation_ == Preparation::order_min || preparation_ == Preparation::order_max;
  }
  // Whether what the device gets has the bytes of the file, but for their order.
  [[nodiscard]] bool are_as_in_file() const { return preparation_ == Preparation::widen && read_as_ == array_.dtype(); }
  // The value of a key, or the number itself where the device sees values.
  [[nodiscard]] Number value_of(const Number& result) const;
  // The item that the device sees for a value.
  [[nodiscard]] Number item_of(const Number& value) const;

  // Items [first, first + count) as the device gets them: in the file's mapping where nothing has to be done, else in
  // `scratch`.
  Expected<std::span<const std::byte>> window(std::uint64_t first, std::uint64_t count,
                                              std::vector<std::byte>& scratch) const;

 private:
  explicit Items(npy::Array array) : array_(std::move(array)) {}

  npy::Array array_;
  npy::Dtype dtype_ = npy::Dtype::u4;
  npy::Dtype read_as_ = npy::Dtype::u4;  // before preparation other than widening
  Preparation preparation_ = Preparation::widen;
  bool zeros_are_equal_ = false;  // keys of argmin and argmax: -0 is +0
  ElementType type_;
};

}  // namespace upsweep::cli
