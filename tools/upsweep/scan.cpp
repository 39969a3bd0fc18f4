// SPDX-License-Identifier: Apache-2.0
// upsweep scan: prefix folds of the items of a .npy file.
#include "upsweep/scan.h"

#include <chrono>
#include <iostream>

#include "array_run.h"
#include "fold.h"
#include "json_number.h"
#include "json_result.h"
#include "outputs.h"

namespace upsweep::cli {
namespace {

struct ScanOptions : FoldOptions {
  bool is_exclusive = false;
  bool is_inclusive = false;
  bool reverse = false;
  bool by_rows = false;
  bool total = false;
  bool json = false;
  std::string output;
};

// Results of the device as the file has them.
class Converter {
 public:
  Converter(const Fold& fold, Scalar stored) : fold_(fold), stored_(stored), dtype_(fold.result_dtype()) {
    is_direct_ = dtype_of(stored) == dtype_ && !fold.is_arg() && !fold.items().has_keys();
  }

  [[nodiscard]] Number settled(std::span<const std::byte> bytes, std::size_t index) const {
    const Number number = number_at(bytes, stored_, index);
    // What no item gives is the index of nothing.
    if (fold_.is_arg()) return number == Number{std::uint64_t{0xffffffff}} ? Number{std::int64_t{-1}} : number;
    return settle(fold_.items().value_of(number), dtype_);
  }

  std::span<const std::byte> convert(std::span<const std::byte> bytes) {
    if (is_direct_) return bytes;
    scratch_.clear();
    for (std::size_t i = 0; i < bytes.size() / npy::item_size(dtype_of(stored_)); ++i) {
      append_bytes(scratch_, settled(bytes, i), dtype_);
    }
    return scratch_;
  }

 private:
  const Fold& fold_;
  Scalar stored_;
  npy::Dtype dtype_;
  bool is_direct_;
  std::vector<std::byte> scratch_;
};

ScanShape shape_of(const ScanOptions& options, const Fold& fold, const Rows& rows) {
  ScanShape shape{.input = fold.items().type(),
                  .transform = fold.transform(),
                  .value = fold.value(),
                  .combine = fold.op(),
                  .kind = options.is_exclusive ? ScanKind::exclusive : ScanKind::inclusive,
                  .init = fold.init_as(fold.value()),
                  .reverse = options.reverse,
                  .write_total = options.total,
                  // Files are for keeps: the time that a repeatable order costs is little beside theirs.
                  .determinism = Determinism::run_to_run};
  if (options.by_rows) {
    shape.segments = ScanSegments::rows(Count::on_host(rows.count), static_cast<std::uint32_t>(rows.length));
  } else {
    shape.item_count = Count::on_host(rows.length);
  }
  return shape;
}

Outcome run_scan(Program& program, const ScanOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  auto fold = Fold::open(options);
  if (!fold) return std::unexpected(fold.error());
  const npy::Array& array = fold->items().array();
  if (const auto ok = check_item_count(array); !ok) return ok;
  const auto rows = rows_of(array, options.by_rows);
  if (!rows) return std::unexpected(rows.error());
  Outputs outputs;
  if (const auto ok = outputs.open("--output", options.output); !ok) return ok;
  warn_of_trailing_bytes(array);

  const auto context = open_context(program.global);
  if (!context) return std::unexpected(context.error());
  fold->choose_types((*context)->traits());
  // Unlike a reduction's, the results of f16 are stored as f16.
  const ElementType folded = folded_type(fold->op(), fold->value());
  const ElementType stored = folded.is_float() ? fold->value() : folded;
  const auto plan = plan_scan(shape_of(options, *fold, *rows), (*context)->traits());
  if (!plan && plan.error().kind == ErrorKind::invalid_request) return fold->failure(plan.error());
  if (!plan) return plan_failed(plan.error(), array);
  auto run = ArrayRun::create(**context, *plan, array.name());
  if (!run) return std::unexpected(run.error());
  const std::uint64_t output_bytes = array.item_count() * stored.size_bytes;
  Progress progress("scan", array.item_count() * fold->items().type().size_bytes + output_bytes);
  if (const auto ok = run->upload("input", fold->items(), progress); !ok) return ok;
  if (const Status ok = run->run(); !ok) return fold->failure(ok.error());

  Converter converter(*fold, *stored.scalar);
  ArrayFile& file = *outputs.find("--output");
  // Without rows the result is flat, as that of numpy.cumsum.
  const std::uint64_t flat[] = {array.item_count()};
  const std::span<const std::uint64_t> shape = options.by_rows ? array.shape() : flat;
  if (const auto ok = file.begin(fold->result_dtype(), shape); !ok) return ok;
  const auto take_output = [&](std::span<const std::byte> bytes) {
    progress.advance(bytes.size());
    return file.append(converter.convert(bytes));
  };
  if (const auto ok = run->read("output", output_bytes, take_output); !ok) return ok;
  std::vector<Number> totals;
  const auto take_totals = [&](std::span<const std::byte> bytes) -> Outcome {
    for (std::size_t i = 0; i < bytes.size() / stored.size_bytes; ++i) totals.push_back(converter.settled(bytes, i));
    return {};
  };
  if (options.total) {
    if (const auto ok = run->read("total", rows->count * stored.size_bytes, take_totals); !ok) return ok;
  }
  if (const auto ok = outputs.commit(); !ok) return ok;

  if (!options.json) {
    for (const Number& total : totals) std::cout << format_number(total, fold->result_dtype()) << '\n';
    return {};
  }
  nlohmann::ordered_json json;
  json["op"] = to_string(fold->op());
  json["items"] = array.item_count();
  json["dtype"] = npy::dtype_name(fold->result_dtype());
  if (options.total && !options.by_rows) json["total"] = json_number(totals.at(0), fold->result_dtype());
  if (options.total && options.by_rows) {
    nlohmann::json values = nlohmann::json::array();
    for (const Number& total : totals) values.push_back(json_number(total, fold->result_dtype()));
    json["totals"] = values;
  }
  print_json(std::move(json), **context, start);
  return {};
}

constexpr const char* scan_examples = R"(  upsweep scan counts.npy -o offsets.npy --exclusive --total
  upsweep scan --op max --rows table.npy -o running_max.npy
  upsweep scan --reverse --init 100 spent.npy -o left.npy
  upsweep scan --transform 'x * x' signal.npy -o energy.npy
Items: u1 to u8, i1 to i8, b1, f2, f4; f8 for min, max, argmin, argmax, any, all. FILE - reads standard input.
Results follow numpy.cumsum and ufunc.accumulate: the whole array is taken as one row, and the result is flat, unless
--rows is given; sums and products of integers have 64 bits (i8, or u8 for unsigned items), modulo 2^64; sums of f2 and
f4 keep their type; argmin and argmax give the index in the row (i8), any and all b1; other results have the items'
type. NaN is propagated. f2 is added in f32, and each result is rounded once. On one device the bits are the same in
every run; prefix sums of f2 and f4 are each rounded in an order of their own, so that of items >= 0 one may be a last
bit below the one before.
Exclusive results begin with --init, or with the operator's identity (min of f4: inf, argmin: -1).
The array and the result must fit into the device's memory and limits together: `upsweep info` lists them.)";

}  // namespace

void add_scan(Program& program) {
  auto options = std::make_shared<ScanOptions>();
  CLI::App& command =
      program.add(program.app, "scan", "Prefix sums, or running results of any operator, of a .npy file", scan_examples,
                  options, run_scan);
  add_input_options(program, command, *options);
  program.writes(command.add_option("-o,--output", options->output, "File for the results"))
      ->required()
      ->type_name("OUT.npy");
  auto* inclusive = command.add_flag("--inclusive", options->is_inclusive, "A result includes its own item (default)");
  command.add_flag("--exclusive", options->is_exclusive, "A result is that of the items before it")
      ->excludes(inclusive);
  command.add_flag("--reverse", options->reverse, "From the last item to the first");
  command.add_flag("--rows", options->by_rows, "Scan each row (the last axis) by itself");
  program.prints(command.add_flag("--total", options->total, "Also print the result of all items, or of each row"));
  program.prints(command.add_flag("--json", options->json, "Print type, time and totals as JSON"));
  add_calculation_options(program, command, *options);
}

}  // namespace upsweep::cli
