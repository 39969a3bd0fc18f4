// SPDX-License-Identifier: Apache-2.0
// upsweep reduce: folds the items of a .npy file.
#include <algorithm>
#include <chrono>
#include <format>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "items.h"
#include "windowed_reduce.h"

namespace upsweep::cli {
namespace {

using npy::Dtype;

struct ReduceOptions {
  std::string file;
  std::string op = "sum";
  std::string transform;
  std::string init;
  std::string cast;
  std::string op_wgsl;
  std::string op_name;
  std::string identity;
  bool commutes = false;
  bool by_rows = false;
  bool json = false;
  std::string output;
  std::uint64_t window_bytes = WindowedReduce{}.window_bytes;
};

bool is_signed(Dtype dtype) {
  return dtype == Dtype::i1 || dtype == Dtype::i2 || dtype == Dtype::i4 || dtype == Dtype::i8;
}
bool is_float(Dtype dtype) { return dtype == Dtype::f2 || dtype == Dtype::f4 || dtype == Dtype::f8; }

Expected<BinaryOperator> read_operator(const ReduceOptions& options) {
  if (options.op_wgsl.empty()) {
    auto op = operator_from_name(options.op);
    if (!op) return failed(op.error());
    return *op;
  }
  if (options.op_name.empty() || options.identity.empty()) {
    return refuse("--op-wgsl needs --op-name (of the function in the file) and --identity (a WGSL expression)");
  }
  std::ifstream file(options.op_wgsl, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) return refuse(std::format("{}: cannot be read", options.op_wgsl));
  return BinaryOperator::custom(options.op_name, text.str(), options.identity, options.commutes);
}

// As NumPy has it: sums and products of integers in 64 bits, indices in i8. Of transformed items nothing is known but
// the type in which WGSL calculates.
Dtype result_dtype(OperatorKind op, Dtype dtype, bool is_free) {
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

// The user's expression, then what widens a 32-bit integer to two words.
Transform make_transform(const ReduceOptions& options, const ElementType& item, bool widens,
                         std::uint64_t first_index) {
  const std::string type = item.scalar == Scalar::f16 ? "f32" : item.wgsl_type;
  Transform transform;
  if (!options.transform.empty()) {
    transform.wgsl = std::format("fn cli_map(x: {0}, i: u32) -> {0} {{ return {1}; }}\n", type, options.transform);
    const auto offset = static_cast<std::uint32_t>(first_index);
    // Only an expression that uses the index pays for a kernel of its own in each window.
    const auto is_name = [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; };
    bool uses_index = false;
    for (std::size_t at = 0; at < options.transform.size(); ++at) {
      uses_index = uses_index || (options.transform[at] == 'i' && (at == 0 || !is_name(options.transform[at - 1])) &&
                                  (at + 1 == options.transform.size() || !is_name(options.transform[at + 1])));
    }
    transform.expression = uses_index ? std::format("cli_map(x, i + {}u)", offset) : "cli_map(x, i)";
  }
  if (widens) {
    transform.wgsl += item.scalar == Scalar::i32
                          ? "fn cli_widen(x: i32) -> vec2u { return vec2u(bitcast<u32>(x), bitcast<u32>(x >> 31u)); }\n"
                          : "fn cli_widen(x: u32) -> vec2u { return vec2u(x, 0u); }\n";
    transform.expression = std::format("cli_widen({})", transform.expression);
  }
  return transform;
}

// Where results go: text, JSON and a file, each when asked for.
class Results {
 public:
  Results(Dtype dtype, bool json) : dtype_(dtype), is_json_(json) {}

  Outcome open(const std::string& path, std::span<const std::uint64_t> shape) {
    auto writer = npy::Writer::create(path, dtype_, shape);
    if (!writer) return refuse(writer.error());
    writer_ = std::move(*writer);
    return {};
  }

  Outcome take(const Number& number) {
    const Number settled = settle(number, dtype_);
    if (writer_) {
      append_bytes(bytes_, settled, dtype_);
      constexpr std::size_t enough = std::size_t{1} << 20;
      if (bytes_.size() >= enough) return flush();
    }
    if (!is_json_ && writer_) return {};
    const std::string text = format_number(settled, dtype_);
    if (!is_json_) {
      text_ += text + '\n';
      return {};
    }
    const double* value = std::get_if<double>(&settled);
    if (value != nullptr && !std::isfinite(*value)) {
      values_.push_back(text);  // JSON has no such numbers
    } else if (dtype_ == Dtype::b1) {
      values_.push_back(text == "True");
    } else {
      values_.push_back(nlohmann::json::parse(text));
    }
    return {};
  }

  Outcome finish() {
    if (writer_) {
      if (const auto ok = flush(); !ok) return ok;
      if (const auto ok = writer_->commit(); !ok) return refuse(ok.error());
    }
    return {};
  }

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const nlohmann::json& values() const { return values_; }

 private:
  Outcome flush() {
    if (const auto ok = writer_->append(bytes_); !ok) return refuse(ok.error());
    bytes_.clear();
    return {};
  }

  Dtype dtype_;
  bool is_json_;
  std::string text_;
  nlohmann::json values_ = nlohmann::json::array();
  std::vector<std::byte> bytes_;
  std::optional<npy::Writer> writer_;
};

Outcome run_reduce(Program& program, const ReduceOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const auto op = read_operator(options);
  if (!op) return std::unexpected(op.error());
  auto items = Items::open(options.file, op->kind, options.cast == "f4");
  if (!items) return std::unexpected(items.error());
  const npy::Array& array = items->array();
  const bool is_arg = op->kind == OperatorKind::argmin || op->kind == OperatorKind::argmax;
  const bool has_transform = !options.transform.empty();
  if (has_transform && items->dtype() == Dtype::f8) {
    return refuse(
        std::format("{}: --transform calculates in WGSL, which has no 64-bit floats; add --cast f4", array.name()));
  }
  if (has_transform && (items->dtype() == Dtype::u8 || items->dtype() == Dtype::i8)) {
    return refuse(std::format("{}: --transform calculates in WGSL, which has no 64-bit integers", array.name()));
  }
  if (options.by_rows && array.shape().empty()) {
    return refuse(std::format("{}: --rows needs an array of at least one dimension", array.name()));
  }
  if (is_arg && !options.init.empty()) return refuse("argmin and argmax take no --init: it has no index");

  WindowedReduce job;
  job.op = *op;
  job.has_user_text = has_transform || op->kind == OperatorKind::custom;
  job.by_rows = options.by_rows;
  job.window_bytes = options.window_bytes;
  job.row_length = options.by_rows ? array.shape().back() : array.item_count();
  std::span<const std::uint64_t> result_shape;
  if (options.by_rows) {
    result_shape = array.shape().first(array.shape().size() - 1);
    constexpr std::uint64_t most_rows = 0xfffffffe;
    for (const std::uint64_t extent : result_shape) {
      if (extent != 0 && job.row_count > most_rows / extent) {
        return refuse(std::format("{}: more than {} rows", array.name(), most_rows));
      }
      job.row_count *= extent;
    }
  }
  const Dtype dtype = result_dtype(op->kind, items->dtype(), job.has_user_text);
  if (!options.init.empty()) {
    const Dtype init_dtype = dtype == Dtype::b1 ? items->dtype() : dtype;
    const auto init = parse_number(options.init, init_dtype);
    if (!init) return refuse(std::format("--init {}: not a value of {}", options.init, npy::dtype_name(init_dtype)));
    job.init = items->item_of(*init);
  }
  Results results(dtype, options.json);
  if (!options.output.empty()) {
    if (const auto ok = results.open(options.output, result_shape); !ok) return ok;
  }
  if (array.trailing_size() != 0) {
    std::cerr << std::format("upsweep: {}: {} bytes behind the array are ignored\n", array.name(),
                             array.trailing_size());
  }

  const auto context = open_context(program.global);
  if (!context) return std::unexpected(context.error());
  if (!(*context)->traits().f16) items->widen_f16();
  const ElementType item = items->type();
  const bool is_64_bit_fold = (op->kind == OperatorKind::sum || op->kind == OperatorKind::product) && !item.is_float();
  const bool widens = is_64_bit_fold && !item.is_64_bit();
  job.value = !widens ? item : item.scalar == Scalar::i32 ? ElementType::i64() : ElementType::u64();
  job.transform_at = [&](std::uint64_t first_index) { return make_transform(options, item, widens, first_index); };

  Progress progress("reduce", array.item_count() * item.size_bytes);
  const TakeResult take = [&](const Number& number) {
    if (is_arg) return results.take(array.item_count() == 0 ? Number{std::int64_t{-1}} : number);
    return results.take(items->value_of(number));
  };
  if (const auto ok = reduce_windows(**context, *items, job, progress, take); !ok) return ok;
  if (const auto ok = results.finish(); !ok) return ok;
  if (!options.json) {
    std::cout << results.text();
    return {};
  }
  nlohmann::ordered_json json;
  json["op"] = to_string(*op);
  json["items"] = array.item_count();
  json["dtype"] = npy::dtype_name(dtype);
  if (options.by_rows) {
    json["values"] = results.values();
  } else {
    json["value"] = results.values().at(0);
  }
  json["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  json["adapter"] = (*context)->traits().adapter;
  std::cout << json.dump() << '\n';
  return {};
}

constexpr const char* examples = R"(  upsweep reduce --op max temperatures.npy
  upsweep reduce --op sum --rows -o totals.npy table.npy
  upsweep reduce --op sum --transform 'x * x' --json signal.npy
  upsweep reduce --op argmin --cast f4 distances.npy
  upsweep reduce --op-wgsl gcd.wgsl --op-name gcd --identity 0u --commutes numbers.npy
Items: u1 to u8, i1 to i8, b1, f2, f4; f8 for min, max, argmin, argmax, any, all. FILE - reads standard input.
Results follow NumPy: sums and products of integers in 64 bits, modulo 2^64; NaN is propagated; argmin and argmax give
the lowest index, or that of the first NaN. --transform calculates in u32, i32 or
f32 (wrapping) before that. f2 and f4 are added in f32, in a tree; an f2 result is rounded once.
An empty array gives --init or the operator's identity (min of f4: inf, max of u1: 0); argmin and argmax give -1.)";

}  // namespace

void add_reduce(Program& program) {
  auto options = std::make_shared<ReduceOptions>();
  CLI::App& command =
      program.add(program.app, "reduce", "Fold the items of a .npy file into one value, or each row into one", examples,
                  options, run_reduce);
  command.add_option("file", options->file, "Array to read")->required()->type_name("FILE.npy");
  command.add_option("--op", options->op, "sum, product, min, max, and, or, xor, argmin, argmax, any, all")
      ->capture_default_str()
      ->type_name("OP");
  command.add_flag("--rows", options->by_rows, "Reduce each row (the last axis) instead of the whole array");
  command.add_option("-o,--output", options->output, "Write the results into a file instead of printing them")
      ->type_name("OUT.npy");
  command.add_flag("--json", options->json, "Print value, type and time as JSON");
  command.add_option("--transform", options->transform, "WGSL expression of the item x and its index i, applied first")
      ->type_name("EXPR");
  command.add_option("--init", options->init, "Value folded in front, once")->type_name("VALUE");
  command.add_option("--cast", options->cast, "f4: round f8 items to 32-bit floats first")
      ->check(CLI::IsMember({"f4"}));
  command.add_option("--op-wgsl", options->op_wgsl, "File with an operator: fn NAME(a: T, b: T) -> T")
      ->type_name("FILE");
  command.add_option("--op-name", options->op_name, "Its name")->type_name("NAME");
  command.add_option("--identity", options->identity, "Its identity, a WGSL expression")->type_name("EXPR");
  command.add_flag("--commutes", options->commutes, "Its operands may be swapped: faster");
  command.add_option("--window-bytes", options->window_bytes, "Bytes that go to the device at a time")
      ->check(CLI::PositiveNumber)
      ->group("");
}

}  // namespace upsweep::cli
