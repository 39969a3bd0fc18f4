// SPDX-License-Identifier: Apache-2.0
// The order of keys for what compares them: merge sort, merge, search, is_sorted. docs/operators.md has the contract.
#pragma once

#include <string>
#include <utility>

namespace upsweep {

/// Which of two keys comes first. A value; compare with ==.
///
/// Natural, for u32, i32, f32, f16, u64 and i64: that of record_sort. Integers by value; floats by value with -0 equal
/// to +0 and every NaN greater than all numbers and equal to every other NaN.
///
/// Any other as WGSL text, for keys of every type, structs too: a strict weak order, i.e. less(a, a) is false, and both
/// less and "neither is less" carry over from a, b and b, c to a, c. It is given items (and queries) and nothing else;
/// f16 items arrive as f32, 64-bit ones as vec2u. With a function that is no such order all ends as it should, but what
/// the result holds is not said.
struct KeyOrder {
  std::string function = {};  ///< The name of the WGSL function `fn name(a: T, b: T) -> bool`; empty: natural.
  std::string wgsl = {};      ///< Text that declares it, and whatever it calls.
  bool reverse = false;       ///< Natural only: the greatest first. Equal keys keep their order all the same.
  bool is_f64 = false;        ///< Natural only: keys of type u64 are the bits of IEEE doubles.

  bool operator==(const KeyOrder&) const = default;
  [[nodiscard]] bool is_natural() const { return function.empty() && wgsl.empty(); }

  static KeyOrder ascending() { return {}; }
  static KeyOrder descending() { return {.reverse = true}; }
  /// Of doubles, as keys of type u64.
  static KeyOrder doubles(bool reverse = false) { return {.reverse = reverse, .is_f64 = true}; }
  static KeyOrder less(std::string function, std::string wgsl) { return {std::move(function), std::move(wgsl)}; }
};

/// "ascending", "descending", or the function's name.
[[nodiscard]] std::string to_string(const KeyOrder& order);

}  // namespace upsweep
