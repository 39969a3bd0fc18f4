// SPDX-License-Identifier: Apache-2.0
// upsweep reduce: folds the items of a .npy file.
#include <chrono>
#include <iostream>

#include "json_number.h"
#include "json_result.h"
#include "windowed_reduce.h"

namespace upsweep::cli {
namespace {

using npy::Dtype;

constexpr std::uint64_t default_window_bytes = std::uint64_t{64} << 20;

struct ReduceOptions : FoldOptions {
  bool by_rows = false;
  bool json = false;
  std::string output;
  std::uint64_t window_bytes = default_window_bytes;
};

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
    if (is_json_) {
      values_.push_back(json_number(settled, dtype_));
    } else {
      text_ += format_number(settled, dtype_) + '\n';
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
  auto fold = Fold::open(options);
  if (!fold) return std::unexpected(fold.error());
  const npy::Array& array = fold->items().array();
  const auto rows = rows_of(array, options.by_rows);
  if (!rows) return std::unexpected(rows.error());
  Results results(fold->result_dtype(), options.json);
  if (!options.output.empty()) {
    std::span<const std::uint64_t> shape;
    if (options.by_rows) shape = array.shape().first(array.shape().size() - 1);
    if (const auto ok = results.open(options.output, shape); !ok) return ok;
  }
  warn_of_trailing_bytes(array);

  const auto context = open_context(program.global);
  if (!context) return std::unexpected(context.error());
  fold->choose_types((*context)->traits());

  const Items& items = fold->items();
  Progress progress("reduce", array.item_count() * items.type().size_bytes);
  const TakeResult take = [&](const Number& number) {
    if (fold->is_arg()) return results.take(array.item_count() == 0 ? Number{std::int64_t{-1}} : number);
    return results.take(items.value_of(number));
  };
  const WindowedReduce job{*fold, options.by_rows, *rows, options.window_bytes};
  if (const auto ok = reduce_windows(**context, job, progress, take); !ok) return ok;
  if (const auto ok = results.finish(); !ok) return ok;
  if (!options.json) {
    std::cout << results.text();
    return {};
  }
  nlohmann::ordered_json json;
  json["op"] = to_string(fold->op());
  json["items"] = array.item_count();
  json["dtype"] = npy::dtype_name(fold->result_dtype());
  if (options.by_rows) {
    json["values"] = results.values();
  } else {
    json["value"] = results.values().at(0);
  }
  print_json(std::move(json), **context, start);
  return {};
}

constexpr const char* reduce_examples = R"(  upsweep reduce --op max temperatures.npy
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
      program.add(program.app, "reduce", "Fold the items of a .npy file into one value, or each row into one",
                  reduce_examples, options, run_reduce);
  add_input_options(program, command, *options);
  command.add_flag("--rows", options->by_rows, "Reduce each row (the last axis) instead of the whole array");
  program
      .writes(
          command.add_option("-o,--output", options->output, "Write the results into a file instead of printing them"))
      ->type_name("OUT.npy");
  program.prints(command.add_flag("--json", options->json, "Print value, type and time as JSON"));
  add_calculation_options(program, command, *options);
  command.add_option("--window-bytes", options->window_bytes, "Bytes that go to the device at a time")
      ->check(positive_number())
      ->group("");
}

}  // namespace upsweep::cli
