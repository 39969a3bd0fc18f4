// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/input.h"

#include <cmath>
#include <format>

namespace upsweep::bench {
namespace {

// Relative to a sum in double. A tree of f32 additions over 2^30 items in [0, 1) stays well below.
constexpr double f32_tolerance = 1e-5;

}  // namespace

Result<RunningReference> RunningReference::create(const BinaryOperator& op, const ElementType& type) {
  const bool has_type =
      type.components == 1 && (type.scalar == Scalar::u32 || type.scalar == Scalar::i32 || type.scalar == Scalar::f32);
  if (!has_type) {
    return fail(ErrorKind::invalid_request,
                std::format("The benchmark has items of u32, i32 and f32, not of {}.", type.name));
  }
  const bool is_float = type.scalar == Scalar::f32;
  switch (op.kind) {
    case OperatorKind::sum:
    case OperatorKind::min:
    case OperatorKind::max:
    case OperatorKind::argmin:
    case OperatorKind::argmax:
    case OperatorKind::logical_any:
    case OperatorKind::logical_all: return RunningReference(op.kind, *type.scalar);
    case OperatorKind::product:
    case OperatorKind::bit_and:
    case OperatorKind::bit_or:
    case OperatorKind::bit_xor:
      if (!is_float) return RunningReference(op.kind, *type.scalar);
      break;
    case OperatorKind::custom: break;
  }
  return fail(ErrorKind::invalid_request,
              std::format("The benchmark cannot check {} of {}.", to_string(op), type.name));
}

RunningReference::RunningReference(OperatorKind kind, Scalar scalar) : kind_(kind), scalar_(scalar) { restart(); }

void RunningReference::restart() {
  item_count_ = 0;
  index_ = 0;
  sum_ = 0;
  const bool starts_with_ones = kind_ == OperatorKind::bit_and;
  const bool starts_with_one = kind_ == OperatorKind::product || kind_ == OperatorKind::logical_all;
  value_ = starts_with_ones ? ~0u : starts_with_one ? 1u : 0u;
}

bool RunningReference::is_less(std::uint32_t a, std::uint32_t b) const {
  if (scalar_ == Scalar::f32) return std::bit_cast<float>(a) < std::bit_cast<float>(b);
  if (scalar_ == Scalar::i32) return std::bit_cast<std::int32_t>(a) < std::bit_cast<std::int32_t>(b);
  return a < b;
}

void RunningReference::take(std::uint32_t i) {
  const std::uint32_t item = input_bits(i, scalar_);
  switch (kind_) {
    case OperatorKind::product: value_ *= item; break;
    case OperatorKind::bit_and: value_ &= item; break;
    case OperatorKind::bit_or: value_ |= item; break;
    case OperatorKind::bit_xor: value_ ^= item; break;
    case OperatorKind::logical_any: value_ |= item != 0 ? 1u : 0u; break;
    case OperatorKind::logical_all: value_ &= item != 0 ? 1u : 0u; break;
    case OperatorKind::min:
    case OperatorKind::max:
    case OperatorKind::argmin:
    case OperatorKind::argmax: {
      const bool wants_least = kind_ == OperatorKind::min || kind_ == OperatorKind::argmin;
      if (i == 0 || (wants_least ? is_less(item, value_) : is_less(value_, item))) {
        value_ = item;
        index_ = i;
      }
      break;
    }
    case OperatorKind::sum:  // advance() has loops of its own
    case OperatorKind::custom: break;
  }
}

void RunningReference::advance(std::uint64_t item_count) {
  if (item_count < item_count_) restart();
  if (kind_ == OperatorKind::sum && scalar_ == Scalar::f32) {
    for (; item_count_ < item_count; ++item_count_) sum_ += input_float(static_cast<std::uint32_t>(item_count_));
    return;
  }
  if (kind_ == OperatorKind::sum) {
    for (; item_count_ < item_count; ++item_count_) value_ += input_hash(static_cast<std::uint32_t>(item_count_));
    return;
  }
  for (; item_count_ < item_count; ++item_count_) take(static_cast<std::uint32_t>(item_count_));
}

Verdict RunningReference::check(std::uint32_t result_bits) const {
  if (kind_ == OperatorKind::sum && scalar_ == Scalar::f32) {
    const double error = std::abs(static_cast<double>(std::bit_cast<float>(result_bits)) - sum_);
    const double relative = sum_ == 0 ? error : error / std::abs(sum_);
    return {relative <= f32_tolerance, relative};
  }
  const bool wants_index = kind_ == OperatorKind::argmin || kind_ == OperatorKind::argmax;
  return {result_bits == (wants_index ? index_ : value_), 0};
}

}  // namespace upsweep::bench
