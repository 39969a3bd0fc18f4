// SPDX-License-Identifier: Apache-2.0
// What reduce and scan share: which operator folds the items, in which types.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "commands.h"
#include "items.h"
#include "number.h"
#include "upsweep/element.h"
#include "upsweep/operator.h"

namespace upsweep::cli {

struct FoldOptions {
  std::string file;
  std::string op = "sum";
  std::string transform;
  std::string init;
  std::string cast;
  std::string op_wgsl;
  std::string op_name;
  std::string identity;
  bool commutes = false;
};

inline constexpr const char* operator_names = "sum, product, min, max, and, or, xor, argmin, argmax, any, all";

// The file and --op go first, what changes the calculation last.
void add_input_options(Program& program, CLI::App& command, FoldOptions& options);
void add_calculation_options(Program& program, CLI::App& command, FoldOptions& options);

// A fold of the items of a file, checked as far as that goes without a device.
class Fold {
 public:
  static Expected<Fold> open(const FoldOptions& options);
  // Settles the types that the device calculates with; before value() and transform().
  void choose_types(const DeviceTraits& traits);

  [[nodiscard]] const BinaryOperator& op() const { return op_; }
  [[nodiscard]] const Items& items() const { return items_; }
  [[nodiscard]] npy::Dtype result_dtype() const { return dtype_; }
  [[nodiscard]] bool is_arg() const { return op_.kind == OperatorKind::argmin || op_.kind == OperatorKind::argmax; }
  // Of the library or the device, perhaps because of the user's text.
  [[nodiscard]] std::unexpected<Failure> failure(const Error& error) const;
  [[nodiscard]] const std::optional<Number>& init() const { return init_; }
  // `init` as the device gets it.
  [[nodiscard]] std::optional<ConstantValue> init_as(const ElementType& type) const;
  // What the transform gives.
  [[nodiscard]] const ElementType& value() const { return value_; }
  // For items whose first one has this index in its row.
  [[nodiscard]] Transform transform(std::uint64_t first_index = 0) const;

 private:
  Fold(BinaryOperator op, Items items) : op_(std::move(op)), items_(std::move(items)) {}

  BinaryOperator op_;
  Items items_;
  std::string expression_;
  std::string op_wgsl_;  // the file of the operator
  npy::Dtype dtype_ = npy::Dtype::u4;
  bool widens_ = false;
  std::optional<Number> init_;
  ElementType value_;
};

// What a fold of `value` items gives: u32 for indices and truths, f32 for f16.
ElementType folded_type(const BinaryOperator& op, const ElementType& value);

// The rows of an array: those of its last axis, or the whole array as one.
struct Rows {
  std::uint64_t count = 1;
  std::uint64_t length = 0;
};
Expected<Rows> rows_of(const npy::Array& array, bool by_rows);

// Bytes behind the array are told on stderr.
void warn_of_trailing_bytes(const npy::Array& array);

}  // namespace upsweep::cli
