// SPDX-License-Identifier: Apache-2.0
// Turns element types and operators into the role functions that kernels call. Roles, in the order of a value's life:
//   item_value      (RawItem) -> Item            what is stored to what the transform sees
//   transform       (Item[, Second], i) -> Value
//   import_value    (Value, i) -> Accumulator    what the operator works on
//   combine         (Accumulator, Accumulator) -> Accumulator
//   identity        () -> Accumulator
//   result_value    (Accumulator) -> RawResult   what is stored
// f32 items and results are moved as u32 words and reinterpreted, so that moves keep NaN bits and subnormals.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/kernel_builder.h"
#include "upsweep/element.h"
#include "upsweep/operator.h"

namespace upsweep {

// How a type is stored and how expressions see it.
struct StoredType {
  std::string raw;    // WGSL type of the array's elements
  std::string value;  // WGSL type that expressions see
  std::string load;   // expression of `raw` giving the value
};
StoredType stored_type(const ElementType& type);

enum class SubgroupFold : std::uint8_t { none, builtin, shuffle };

struct LoweredOperator {
  std::string accumulator;              // WGSL type
  std::uint32_t accumulator_bytes = 4;  // stride in arrays
  std::vector<std::string> parts;       // embedded files that the expressions use
  std::string import_expression = "v";  // of v: Value and i: u32
  std::string combine_expression;       // of a and b
  std::string identity_expression;
  std::string result_expression;  // of a, giving `result.raw`
  ElementType result;             // what is stored
  std::string subgroup_builtin;   // "subgroupAdd" if there is one
  bool may_shuffle = false;       // the accumulator can go through subgroupShuffleXor
  bool commutative = true;
  std::uint64_t summation_terms = 0;  // 1 for float sums, where explain states a bound
};

// `value` is the type that the transform gives; `output` overrides the operator's natural result type where it may
// (f16 or f32 for f16 values).
Result<LoweredOperator> lower_operator(const BinaryOperator& op, const ElementType& value, const ElementType* output);

// The fold of some expressions with combine(), in order, as a tree.
std::string combine_tree(std::vector<std::string> terms);

// What a kernel calls the operator's accumulator and functions.
struct OperatorNames {
  std::string_view accumulator = "Accumulator";
  std::string_view combine = "combine";
  std::string_view identity = "identity";
};

// Adds the operator's declarations and role functions (import_value, combine, identity, result_value), and the aliases
// Accumulator, Value, RawResult.
void add_operator(KernelBuilder& builder, const BinaryOperator& op, const ElementType& value,
                  const LoweredOperator& lowered, const OperatorNames& names = {});

}  // namespace upsweep
