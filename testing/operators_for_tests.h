// SPDX-License-Identifier: Apache-2.0
// Operators for tests: lists of the well-known ones and of the types they work on, and custom ones as WGSL text with
// their twins in C++.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <format>
#include <vector>

#include "testing/generators.h"
#include "upsweep/operator.h"

namespace upsweep::testing {

inline std::vector<BinaryOperator> well_known_operators() {
  return {BinaryOperator::sum(),         BinaryOperator::product(),    BinaryOperator::min(),
          BinaryOperator::max(),         BinaryOperator::bit_and(),    BinaryOperator::bit_or(),
          BinaryOperator::bit_xor(),     BinaryOperator::argmin(),     BinaryOperator::argmax(),
          BinaryOperator::logical_any(), BinaryOperator::logical_all()};
}

inline std::vector<ElementType> builtin_types() {
  std::vector<ElementType> types{ElementType::u32(), ElementType::i32(), ElementType::f32(),
                                 ElementType::f16(), ElementType::u64(), ElementType::i64()};
  for (const Scalar scalar : {Scalar::u32, Scalar::i32, Scalar::f32}) {
    for (const std::uint32_t components : {2u, 4u}) types.push_back(ElementType::vec(scalar, components));
  }
  return types;
}

/// By the documents: arithmetic and order of every type, componentwise; bits of integers; index and truth of scalars.
inline bool is_defined(OperatorKind kind, const ElementType& type) {
  switch (kind) {
    case OperatorKind::sum:
    case OperatorKind::product:
    case OperatorKind::min:
    case OperatorKind::max: return !type.is_struct();
    case OperatorKind::bit_and:
    case OperatorKind::bit_or:
    case OperatorKind::bit_xor: return !type.is_struct() && !type.is_float();
    case OperatorKind::argmin:
    case OperatorKind::argmax:
    case OperatorKind::logical_any:
    case OperatorKind::logical_all: return !type.is_struct() && type.components == 1;
    case OperatorKind::custom: return true;
  }
  return false;
}

/// Smallest and greatest item. Commutes; `ordered` says that it does not, for the slower plans.
struct MinMax {
  float low;
  float high;
  bool operator==(const MinMax&) const = default;

  static constexpr float largest = std::numeric_limits<float>::max();
  static MinMax identity() { return {largest, -largest}; }
  static ElementType type() {
    return *ElementType::structure("MinMax", "struct MinMax {\n  low: f32,\n  high: f32,\n}", 8, 8);
  }
  static BinaryOperator combine(bool ordered = false) {
    return BinaryOperator::custom(
        "min_max",
        "fn min_max(a: MinMax, b: MinMax) -> MinMax { return MinMax(min(a.low, b.low), max(a.high, b.high)); }",
        "MinMax(0x1.fffffep127, -0x1.fffffep127)", !ordered);
  }
  friend MinMax operator*(const MinMax& a, const MinMax& b) {
    return {std::min(a.low, b.low), std::max(a.high, b.high)};
  }
};

/// x -> scale x + shift modulo 2^32; a * b is first a, then b. Does not commute.
struct Affine {
  std::uint32_t scale;
  std::uint32_t shift;
  bool operator==(const Affine&) const = default;

  static Affine identity() { return {1, 0}; }
  static Affine item(std::uint32_t i) { return {2 * (i % 5) + 1, i}; }
  static ElementType type() {
    return *ElementType::structure("Affine", "struct Affine {\n  scale: u32,\n  shift: u32,\n}", 8, 8);
  }
  static BinaryOperator combine() {
    return BinaryOperator::custom(
        "then",
        "fn then(a: Affine, b: Affine) -> Affine { return Affine(b.scale * a.scale, b.scale * a.shift + b.shift); }",
        "Affine(1u, 0u)");
  }
  friend Affine operator*(const Affine& a, const Affine& b) { return {b.scale * a.scale, b.scale * a.shift + b.shift}; }
};

/// 2 x 2 matrices modulo 2^32 in a vec4<u32>, row by row. Does not commute.
struct Matrix2 {
  static Vec<std::uint32_t, 4> identity() { return {1, 0, 0, 1}; }
  static BinaryOperator combine() {
    return BinaryOperator::custom("times",
                                  "fn times(a: vec4u, b: vec4u) -> vec4u {\n"
                                  "  return vec4u(a.x * b.x + a.y * b.z, a.x * b.y + a.y * b.w,\n"
                                  "               a.z * b.x + a.w * b.z, a.z * b.y + a.w * b.w);\n"
                                  "}",
                                  "vec4u(1u, 0u, 0u, 1u)");
  }
  static Vec<std::uint32_t, 4> times(const Vec<std::uint32_t, 4>& a, const Vec<std::uint32_t, 4>& b) {
    return {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
  }
};

/// Adds growing items and answers -10000 when the right one is not the greater: shows an exchange of neighbours. 0 is
/// the identity.
inline BinaryOperator growing_sum() {
  return BinaryOperator::custom("growing_sum",
                                "fn growing_sum(a: i32, b: i32) -> i32 {\n"
                                "  if (a == 0) { return b; }\n"
                                "  if (b == 0) { return a; }\n"
                                "  return select(-10000, a + b, a < b);\n"
                                "}",
                                "0");
}

/// A struct of `Words` words (at least 3): a sum, a greatest float and exclusive ors. Commutes.
template <std::size_t Words>
struct Tally {
  std::uint32_t total;
  float top;
  std::array<std::uint32_t, Words - 2> marks;
  bool operator==(const Tally&) const = default;

  static constexpr std::uint32_t bytes = 4 * Words;
  static Tally identity() { return {0, -std::numeric_limits<float>::max(), {}}; }
  static Tally item(Random& random) {
    Tally record{random.next32(), random.between_minus_one_and_one(), {}};
    for (std::uint32_t& mark : record.marks) mark = random.next32();
    return record;
  }
  static ElementType type() {
    return *ElementType::structure(
        "Tally", std::format("struct Tally {{\n  total: u32,\n  top: f32,\n  marks: array<u32, {}>,\n}}", Words - 2),
        bytes, bytes);
  }
  static BinaryOperator combine(bool ordered = false) {
    return BinaryOperator::custom("merge",
                                  std::format("fn merge(a: Tally, b: Tally) -> Tally {{\n"
                                              "  var merged = Tally(a.total + b.total, max(a.top, b.top), a.marks);\n"
                                              "  for (var k = 0u; k < {}u; k++) {{ merged.marks[k] ^= b.marks[k]; }}\n"
                                              "  return merged;\n"
                                              "}}",
                                              Words - 2),
                                  std::format("Tally(0u, -0x1.fffffep127, array<u32, {}>())", Words - 2), !ordered);
  }
  friend Tally operator*(const Tally& a, const Tally& b) {
    Tally merged{a.total + b.total, std::max(a.top, b.top), a.marks};
    for (std::size_t k = 0; k < Words - 2; ++k) merged.marks[k] ^= b.marks[k];
    return merged;
  }
};

}  // namespace upsweep::testing
