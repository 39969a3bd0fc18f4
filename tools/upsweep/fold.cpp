// SPDX-License-Identifier: Apache-2.0
#include "fold.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <format>
#include <fstream>
#include <iostream>
#include <sstream>

#include "upsweep/reduce.h"

namespace upsweep::cli {
namespace {

using npy::Dtype;

bool is_signed(Dtype dtype) {
  return dtype == Dtype::i1 || dtype == Dtype::i2 || dtype == Dtype::i4 || dtype == Dtype::i8;
}
bool is_float(Dtype dtype) { return dtype == Dtype::f2 || dtype == Dtype::f4 || dtype == Dtype::f8; }

bool is_function_name(std::string_view text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) == 0 &&
         std::ranges::all_of(text, is_of_name);
}

// Whether WGSL text has "fn name". Where a comment stands in between, the compiler is to decide.
bool may_declare(std::string_view text, std::string_view name) {
  for (auto at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    std::string_view before = text.substr(0, at);
    before = before.substr(0, before.find_last_not_of(" \t\r\n") + 1);
    const bool is_whole = at + name.size() == text.size() || !is_of_name(text[at + name.size()]);
    const bool is_behind = before.ends_with("*/") || (before.ends_with("fn") && before.size() < at);
    if (is_whole && is_behind) return true;
  }
  return false;
}

Expected<BinaryOperator> read_operator(const FoldOptions& options) {
  if (options.op_wgsl.empty()) {
    auto op = operator_from_name(options.op);
    if (!op) return failed(op.error());
    return *op;
  }
  if (options.op_name.empty() || options.identity.empty()) {
    return refuse("--op-wgsl needs --op-name (of the function in the file) and --identity (a WGSL expression)");
  }
  if (!is_function_name(options.op_name)) {
    return refuse(single_line(std::format("--op-name \"{}\": not a name of a function", options.op_name)));
  }
  std::ifstream file(options.op_wgsl, std::ios::binary);
  const bool is_empty = file.is_open() && file.peek() == std::ifstream::traits_type::eof() && !file.bad();
  if (is_empty) return refuse(std::format("--op-wgsl {}: the file is empty", npy::one_line(options.op_wgsl)));
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {
    return refuse(std::format("--op-wgsl {}: cannot be read", npy::one_line(options.op_wgsl)));
  }
  // Else one of WGSL's own functions would do, as min, whose NaN are others.
  if (!may_declare(text.view(), options.op_name)) {
    return refuse(std::format("--op-wgsl {} --op-name \"{}\": the file declares no function of that name",
                              npy::one_line(options.op_wgsl), options.op_name));
  }
  return BinaryOperator::custom(options.op_name, text.str(), options.identity, options.commutes);
}

// As NumPy has it: sums and products of integers in 64 bits, indices in i8. Of transformed items nothing is known but
// the type in which WGSL calculates.
Dtype result_dtype_of(OperatorKind op, Dtype dtype, bool is_free) {
  Dtype calculated = dtype;
  if (is_free && npy::item_size(dtype) < 4 && dtype != Dtype::f2) calculated = is_signed(dtype) ? Dtype::i4 : Dtype::u4;
  switch (op) {
    case OperatorKind::sum:
    case OperatorKind::product:
      if (is_float(dtype)) return dtype;
      return is_signed(dtype) || dtype == Dtype::b1 ? Dtype::i8 : Dtype::u8;
    case OperatorKind::argmin:
    case OperatorKind::argmax: return Dtype::i8;
    case OperatorKind::logical_any:
    case OperatorKind::logical_all: return Dtype::b1;
    default: return calculated;
  }
}

// Only an expression that uses the index pays for a kernel of its own in each window.
bool uses_index(const std::string& expression) {
  for (std::size_t at = 0; at < expression.size(); ++at) {
    if (expression[at] == 'i' && (at == 0 || !is_of_name(expression[at - 1])) &&
        (at + 1 == expression.size() || !is_of_name(expression[at + 1]))) {
      return true;
    }
  }
  return false;
}

}  // namespace

void add_input_options(Program& program, CLI::App& command, FoldOptions& options) {
  program.reads(command.add_option("file", options.file, "Array to read"))->required()->type_name("FILE.npy");
  command.add_option("--op", options.op, operator_names)->capture_default_str()->type_name("OP");
}

void add_calculation_options(Program& program, CLI::App& command, FoldOptions& options) {
  command.add_option("--transform", options.transform, "WGSL expression of the item x and its index i, applied first")
      ->type_name("EXPR");
  command.add_option("--init", options.init, "Value of the results' type folded in front, once")->type_name("VALUE");
  command.add_option("--cast", options.cast, "f4: round f8 items to 32-bit floats first")->check(CLI::IsMember({"f4"}));
  CLI::Option* text = program.reads(
      command.add_option("--op-wgsl", options.op_wgsl, "File with an operator: fn NAME(a: T, b: T) -> T"));
  text->type_name("FILE")->excludes(command.get_option("--op"));
  command.add_option("--op-name", options.op_name, "Its name")->type_name("NAME")->needs(text);
  command.add_option("--identity", options.identity, "Its identity, a WGSL expression")->type_name("EXPR")->needs(text);
  command.add_flag("--commutes", options.commutes, "Its operands may be swapped: faster")->needs(text);
}

Expected<Fold> Fold::open(const FoldOptions& options) {
  auto op = read_operator(options);
  if (!op) return std::unexpected(op.error());
  auto items = Items::open(options.file, op->kind, options.cast == "f4");
  if (!items) return std::unexpected(items.error());
  Fold fold(std::move(*op), std::move(*items));
  const std::string& name = fold.items_.array().name();
  const Dtype dtype = fold.items_.dtype();
  fold.expression_ = options.transform;
  fold.op_wgsl_ = options.op_wgsl;
  if (!options.transform.empty() && dtype == Dtype::f8) {
    return refuse(std::format("{}: --transform calculates in WGSL, which has no 64-bit floats; add --cast f4", name));
  }
  if (!options.transform.empty() && (dtype == Dtype::u8 || dtype == Dtype::i8)) {
    return refuse(std::format("{}: --transform calculates in WGSL, which has no 64-bit integers", name));
  }
  if (!options.transform.empty()) {
    // The library asks for one expression; what is planned in the end calls a function around it.
    const ReduceShape shape{.item_count = Count::on_host(1), .transform = Transform::of(options.transform)};
    if (const auto plan = plan_reduce(shape, DeviceTraits::webgpu_minimum()); !plan) return fold.failure(plan.error());
  }
  if (fold.is_arg() && !options.init.empty()) return refuse("argmin and argmax take no --init: it has no index");
  const bool is_free = !options.transform.empty() || fold.op_.kind == OperatorKind::custom;
  fold.dtype_ = result_dtype_of(fold.op_.kind, dtype, is_free);
  if (!options.init.empty()) {
    const auto init = parse_number(options.init, fold.dtype_);
    if (!init) return refuse(std::format("--init {}: not a value of {}", options.init, npy::dtype_name(fold.dtype_)));
    fold.init_ = fold.items_.item_of(*init);
  }
  return fold;
}

std::unexpected<Failure> Fold::failure(const Error& error) const {
  // Without a custom operator the texts of its options are empty.
  const std::string file = std::format("--op-wgsl {}", npy::one_line(op_wgsl_));
  const std::string option = std::format("{} --op-name", file);
  const std::string origin = std::format("operator \"{}\"", op_.function);
  const std::string call = std::format("call of {}", origin);
  const std::string identity = std::format("identity of {}", origin);
  const std::array<UserText, 5> texts{UserText{"--transform", expression_, "transform"},
                                      {"--transform", expression_, "transform expression"},
                                      {option, op_.function, call},
                                      {"--identity", op_.identity, identity},
                                      {file, op_wgsl_, origin, true}};
  return failed(error, texts);
}

void Fold::choose_types(const DeviceTraits& traits) {
  if (!traits.f16) items_.widen_f16();
  const ElementType item = items_.type();
  const bool is_64_bit_fold = (op_.kind == OperatorKind::sum || op_.kind == OperatorKind::product) && !item.is_float();
  widens_ = is_64_bit_fold && !item.is_64_bit();
  // Not by the items: those of b1 are u32, and their sums are signed.
  value_ = !widens_ ? item : is_signed(dtype_) ? ElementType::i64() : ElementType::u64();
}

std::optional<ConstantValue> Fold::init_as(const ElementType& type) const {
  if (!init_) return std::nullopt;
  std::vector<std::byte> bytes;
  const Dtype dtype = dtype_of(*type.scalar);
  append_bytes(bytes, settle(*init_, dtype), dtype);
  return ConstantValue::from_bytes(bytes);
}

// The user's expression, then what widens a 32-bit integer to two words.
Transform Fold::transform(std::uint64_t first_index) const {
  const ElementType& item = items_.type();
  const std::string type = item.scalar == Scalar::f16 ? "f32" : item.wgsl_type;
  Transform transform;
  if (!expression_.empty()) {
    // The end of the line ends a comment.
    transform.wgsl = std::format("fn cli_map(x: {0}, i: u32) -> {0} {{ return {1}\n; }}\n", type, expression_);
    const auto offset = static_cast<std::uint32_t>(first_index);
    transform.expression = uses_index(expression_) ? std::format("cli_map(x, i + {}u)", offset) : "cli_map(x, i)";
  }
  if (widens_) {
    transform.wgsl += item.scalar == Scalar::i32
                          ? "fn cli_widen(x: i32) -> vec2u { return vec2u(bitcast<u32>(x), bitcast<u32>(x >> 31u)); }\n"
                          : "fn cli_widen(x: u32) -> vec2u { return vec2u(x, 0u); }\n";
    transform.expression = std::format("cli_widen({})", transform.expression);
  }
  return transform;
}

ElementType folded_type(const BinaryOperator& op, const ElementType& value) {
  switch (op.kind) {
    case OperatorKind::argmin:
    case OperatorKind::argmax:
    case OperatorKind::logical_any:
    case OperatorKind::logical_all: return ElementType::u32();
    default: return value.scalar == Scalar::f16 ? ElementType::f32() : value;
  }
}

Expected<Rows> rows_of(const npy::Array& array, bool by_rows) {
  if (!by_rows) return Rows{1, array.item_count()};
  if (array.shape().empty()) {
    return refuse(std::format("{}: --rows needs an array of at least one dimension", array.name()));
  }
  Rows rows{1, array.shape().back()};
  constexpr std::uint64_t most_rows = 0xfffffffe;
  for (const std::uint64_t extent : array.shape().first(array.shape().size() - 1)) {
    if (extent != 0 && rows.count > most_rows / extent) {
      return refuse(std::format("{}: more than {} rows", array.name(), most_rows));
    }
    rows.count *= extent;
  }
  return rows;
}

void warn_of_trailing_bytes(const npy::Array& array) {
  if (array.trailing_size() == 0) return;
  std::cerr << std::format("upsweep: {}: {} bytes behind the array are ignored\n", array.name(), array.trailing_size());
}

}  // namespace upsweep::cli
