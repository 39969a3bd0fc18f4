// SPDX-License-Identifier: Apache-2.0
// Inputs that host and device make alike, and what reductions of them must give. The CUB peer has the same generators.
#pragma once

#include <bit>
#include <cstdint>
#include <string>

#include "benchmarking/hash.h"
#include "upsweep/element.h"
#include "upsweep/operator.h"
#include "upsweep/status.h"

namespace upsweep::bench {

constexpr float input_float(std::uint32_t i) { return static_cast<float>(input_hash(i) >> 8) * (1.0f / 16777216.0f); }

// The bits of item i.
constexpr std::uint32_t input_bits(std::uint32_t i, Scalar scalar) {
  return scalar == Scalar::f32 ? std::bit_cast<std::uint32_t>(input_float(i)) : input_hash(i);
}

// u64 items are the u32 items two by two, the first in the low half.
constexpr std::uint64_t input_u64(std::uint32_t i) {
  return input_hash(2 * i) | std::uint64_t{input_hash(2 * i + 1)} << 32;
}

// Keys in runs of so many items on average.
constexpr std::uint32_t usual_run_items = 4;
constexpr std::uint32_t most_run_items = 4096;

struct Runs {
  std::uint64_t item_count = 0;
  std::uint32_t mean = usual_run_items;
};

// A run begins at item 0 and at every item whose hash is a multiple of `mean`, and the hash of a run's first item is
// the key of its items. Of runs of 4, a quarter have one item, one in a hundred 17 or more. The hash is a bijection:
// neighbouring runs differ.
constexpr bool begins_run(std::uint32_t i, std::uint32_t mean = usual_run_items) {
  return i == 0 || input_hash(i) % mean == 0;
}

// Where the segments of a sort begin: `mean` items apart, moved by up to as many, so that they have 0 to 2 * mean
// items.
constexpr std::uint64_t segment_begin(std::uint64_t segment, std::uint64_t mean, std::uint64_t item_count) {
  if (segment == 0) return 0;
  const std::uint64_t begin = segment * mean + input_hash(static_cast<std::uint32_t>(segment)) % mean;
  return begin < item_count ? begin : item_count;
}

// What fills a buffer on the device (plan_fill).
enum class InputKind : std::uint8_t { words, floats };

struct Verdict {
  bool correct = false;
  double relative_error = 0;  // the largest; sums of f32 only
};

// The reduction of the first items, one after the other. Sums of f32 are kept in double.
class RunningReference {
 public:
  // Types u32, i32, f32; not the product of f32, which runs below the smallest number.
  static Result<RunningReference> create(const BinaryOperator& op, const ElementType& type);
  // To the first `item_count` items; starts again where that is fewer than before.
  void advance(std::uint64_t item_count);
  [[nodiscard]] Verdict check(std::uint32_t result_bits) const;

 private:
  RunningReference(OperatorKind kind, Scalar scalar);
  void restart();
  void take(std::uint32_t i);
  [[nodiscard]] bool is_less(std::uint32_t a, std::uint32_t b) const;

  OperatorKind kind_;
  Scalar scalar_;
  std::uint64_t item_count_ = 0;
  std::uint32_t value_ = 0;  // bits
  std::uint32_t index_ = 0;  // argmin, argmax
  double sum_ = 0;           // sums of f32
};

}  // namespace upsweep::bench
