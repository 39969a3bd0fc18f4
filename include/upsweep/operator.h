// SPDX-License-Identifier: Apache-2.0
// Operators and transforms: well-known ones by name, any other as WGSL text. docs/operators.md has the contract.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "upsweep/element.h"
#include "upsweep/status.h"

namespace upsweep {

enum class OperatorKind : std::uint8_t {
  sum,
  product,
  min,
  max,
  bit_and,
  bit_or,
  bit_xor,
  argmin,
  argmax,
  logical_any,
  logical_all,
  custom,
};

/// An associative binary operator. A value; compare with ==.
///
/// Semantics of the well-known ones (docs/semantics.md): integers wrap; float sums are tree sums; min and max of
/// floats propagate NaN and keep infinities; argmin and argmax give the lowest index among ties and the first NaN if
/// there is one; logical operators count every non-zero item, NaN too, as true.
struct BinaryOperator {
  OperatorKind kind = OperatorKind::sum;
  std::string function = {};  ///< custom: the name of the WGSL function `fn name(a: T, b: T) -> T`.
  std::string wgsl = {};      ///< custom: text that declares it, and whatever it calls.
  std::string identity = {};  ///< custom: a WGSL expression e of type T with op(e, x) = op(x, e) = x.
  bool commutative = true;

  bool operator==(const BinaryOperator&) const = default;

  static BinaryOperator sum() { return {OperatorKind::sum, {}, {}, {}, true}; }
  static BinaryOperator product() { return {OperatorKind::product, {}, {}, {}, true}; }
  static BinaryOperator min() { return {OperatorKind::min, {}, {}, {}, true}; }
  static BinaryOperator max() { return {OperatorKind::max, {}, {}, {}, true}; }
  static BinaryOperator bit_and() { return {OperatorKind::bit_and, {}, {}, {}, true}; }
  static BinaryOperator bit_or() { return {OperatorKind::bit_or, {}, {}, {}, true}; }
  static BinaryOperator bit_xor() { return {OperatorKind::bit_xor, {}, {}, {}, true}; }
  static BinaryOperator argmin() { return {OperatorKind::argmin, {}, {}, {}, true}; }
  static BinaryOperator argmax() { return {OperatorKind::argmax, {}, {}, {}, true}; }
  static BinaryOperator logical_any() { return {OperatorKind::logical_any, {}, {}, {}, true}; }
  static BinaryOperator logical_all() { return {OperatorKind::logical_all, {}, {}, {}, true}; }

  /// Any associative operator. It need not commute (say so with `commutative` if it does: faster plans). It is given
  /// input items, `init`, the identity and its own results, nothing else.
  static BinaryOperator custom(std::string function, std::string wgsl, std::string identity, bool commutative = false) {
    return {OperatorKind::custom, std::move(function), std::move(wgsl), std::move(identity), commutative};
  }
};

/// "sum", "min", "argmax", "any", ... or the function's name.
[[nodiscard]] std::string to_string(const BinaryOperator& op);
/// A well-known operator by the name that `to_string` gives it.
[[nodiscard]] Result<BinaryOperator> operator_from_name(std::string_view name);

/// A map that is applied to each item as it is loaded: a WGSL expression of
///   x  the item (f16 items arrive as f32, 64-bit ones as vec2u),
///   y  the item of the second input, where there is one,
///   i  the index of the item (u32), counted from the first item of its segment.
struct Transform {
  std::string expression = "x";
  std::string wgsl = {};  ///< Text with functions or structs that the expression uses; may be empty.

  bool operator==(const Transform&) const = default;
  [[nodiscard]] bool is_identity() const { return expression == "x" && wgsl.empty(); }

  static Transform identity() { return {}; }
  static Transform of(std::string expression, std::string wgsl = {}) {
    return {std::move(expression), std::move(wgsl)};
  }
  static Transform abs() { return {"abs(x)", {}}; }
  static Transform square() { return {"(x * x)", {}}; }
  /// Bounds are WGSL expressions of the item's type: clamp("0.0", "1.0").
  static Transform clamp(std::string_view low, std::string_view high);
  /// f32 only: subnormal items count as zero of the same sign, on every device.
  static Transform flush_subnormals();
};

}  // namespace upsweep
