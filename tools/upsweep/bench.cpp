// SPDX-License-Identifier: Apache-2.0
// upsweep bench: times the primitives on the device.
#include "benchmarking/bench.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <format>
#include <iostream>

#include "commands.h"
#include "matrix_files.h"

namespace upsweep::cli {
namespace {

struct BenchArguments {
  bench::BenchOptions bench;
  std::vector<std::string> items;
  std::vector<std::string> types;
  std::vector<std::string> matrix_files;
};

// As the benchmarks have it: columns of a row ascend and differ.
Expected<std::shared_ptr<const bench::CsrMatrix>> read_for_bench(const std::string& path, const DeviceTraits& traits) {
  const auto matrix = read_matrix(path);
  if (!matrix) return std::unexpected(matrix.error());
  if (const auto ok = check_sizes(*matrix, path, traits); !ok) return std::unexpected(ok.error());
  host::CsrMatrix csr = ascending_rows(*matrix);
  // A pattern is one of ones.
  if (csr.values.empty()) csr.values.assign(csr.columns.size(), 1.0);
  sum_duplicates(csr);
  auto result = std::make_shared<bench::CsrMatrix>();
  result->row_count = csr.row_count;
  result->column_count = csr.column_count;
  result->row_offsets = csr.row_offsets;
  result->columns = csr.columns;
  for (const double value : csr.values) result->values.push_back(static_cast<float>(value));
  if (result->row_count == 0 || result->columns.empty()) {
    return refuse(std::format("{}: a matrix without entries has nothing to measure", npy::one_line(path)));
  }
  if (!std::ranges::all_of(result->values, [](float value) { return std::isfinite(value); })) {
    return refuse(std::format("{}: values must be finite in f4 for their products to be checked", npy::one_line(path)));
  }
  return result;
}

std::string in_a_row(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// Commands of this program whose primitives have other names.
std::string bench_name(const std::string& name) {
  return name == "rle" ? "run_length" : name == "topk" ? "top_k" : name == "solve" ? "conjugate_gradient" : name;
}

// Each for itself, since benchmarks take those of several types that they have; and errors name it as it was typed.
Outcome add_type(bench::BenchOptions& options, const std::string& text) {
  const auto name = narrow_type_name("--type", text);
  if (!name) return std::unexpected(name.error());
  bench::BenchOptions alone = options;
  alone.types = {*name};
  if (const Status ok = bench::check_options(alone); !ok) {
    alone.types.clear();
    if (!bench::check_options(alone)) return failed(ok.error());
    return refuse(std::format("--type {}: {}", text, ok.error().message));
  }
  options.types.push_back(*name);
  return {};
}

Outcome run_bench(Program& program, const BenchArguments& arguments) {
  bench::BenchOptions options = arguments.bench;
  if (!options.json_path.empty() && is_standard_output(options.json_path)) {
    return refuse(std::format("--json {}: the table is printed there; name a file", npy::one_line(options.json_path)));
  }
  const bool ladder = options.ladder || options.quick;
  const std::vector<std::string> known = ladder ? bench::ladder_names() : bench::bench_names();
  for (std::string& name : options.names) {
    name = bench_name(name);
    if (std::ranges::contains(known, name)) continue;
    return refuse(
        std::format("there is no {} \"{}\"; there are: {}", ladder ? "ladder of" : "benchmark", name, in_a_row(known)));
  }
  for (const std::string& text : arguments.items) {
    const auto count = parse_count(text);
    if (!count) return std::unexpected(count.error());
    if (*count == 0) return refuse("--items 0: there is nothing to measure");
    options.items.push_back(*count);
  }
  for (const std::string& name : options.matrices) {
    if (name.ends_with(".mtx")) return refuse(std::format("--matrix {}: a file goes with --matrix-file", name));
  }
  // Bare `upsweep bench` shows what the steps of the ladder bring, in a minute or so.
  if (options.names.empty()) {
    options.names = {arguments.matrix_files.empty() ? "reduce" : "spmv"};
    options.ladder = true;
    options.quick = options.quick || options.items.empty();
  }
  for (const std::string& text : arguments.types) {
    if (const auto ok = add_type(options, text); !ok) return ok;
  }
  GlobalOptions global = program.global;
  global.adapter.exact_timestamps = true;
  const auto context = open_context(global);
  if (!context) return std::unexpected(context.error());
  for (const std::string& path : arguments.matrix_files) {
    auto matrix = read_for_bench(path, (*context)->traits());
    if (!matrix) return std::unexpected(matrix.error());
    options.given_matrices.push_back({npy::one_line(path), std::move(*matrix)});
  }
  // Where nobody watches, what begins is of no use: the tables say what was done.
  std::ostream silence(nullptr);
  std::ostream& progress = isatty(STDERR_FILENO) != 0 ? std::cerr : silence;
  if (const Status ok = bench::run_bench(**context, options, std::cout, progress); !ok) return failed(ok.error());
  return check_device(**context);
}

}  // namespace

void add_bench(Program& program) {
  auto arguments = std::make_shared<BenchArguments>();
  bench::BenchOptions& options = arguments->bench;
  CLI::App& command =
      program.add(program.app, "bench", "Measure primitives; without a name, the quick ladder of reduce",
                  "  upsweep bench\n"
                  "  upsweep bench reduce --type f32 --items 2^20,2^24 --json result.json\n"
                  "  upsweep bench scan select --items 2^26\n"
                  "  upsweep bench --ladder scan\n"
                  "  upsweep bench scan --op exclusive_sum --type u32 --tuning path=single_pass,rows=4\n"
                  "  upsweep bench spmv --matrix grid5,power_law --format csr,sell --items 1000000\n"
                  "  upsweep bench --ladder spmv --matrix-file A.mtx",
                  arguments, run_bench);
  command
      .add_option("names", options.names,
                  "Benchmarks to run: " + in_a_row(bench::bench_names()) +
                      "; rle, topk and solve are run_length, top_k and conjugate_gradient")
      ->type_name("NAMES");
  command.add_flag("--ladder", options.ladder,
                   "Show each step from the naive kernel to the library's: " + in_a_row(bench::ladder_names()));
  command.add_flag("--quick", options.quick, "The ladder at one size that suits the adapter");
  command.add_option("--items", arguments->items, "Item counts, as 1000000, 1e6 or 2^20")
      ->delimiter(',')
      ->transform(count_text())
      ->allow_extra_args(false)
      ->type_name("LIST");
  command
      .add_option("--type", arguments->types,
                  "Item types: u32, i32, f32, u64, ...; or NumPy's u4, i4, f4; u1 for bytes (histogram)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("LIST");
  command
      .add_option(
          "--op", options.operation,
          "reduce: an operator; scan: exclusive_sum, inclusive_sum or inclusive_sum_by_key; unique, run_length: "
          "runs_of_N; reduce_by_key: sum, sum_in_runs_of_N; histogram: even_N; top_k: k_K")
      ->type_name("OP");
  command
      .add_option("--matrix", options.matrices,
                  "spmv: grid5, grid27, blocks3, power_law, uniform, dense_row, diagonal; --items are their rows")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("LIST");
  program
      .reads(command.add_option("--matrix-file", arguments->matrix_files,
                                "spmv: a Matrix Market file; may be given several times, and beside --matrix"))
      ->allow_extra_args(false)
      ->type_name("A.mtx");
  command
      .add_option("--format", options.formats,
                  "spmv: csr, coo, ell, sell, sell_sorted, hybrid, bell (bell2 to bell16: the size of the blocks)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("LIST");
  command.add_option("--tuning", options.tuning, "Knobs of the library's tuning, as rows=4; a wrong one names all")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("KNOB=VALUE");
  command.add_option("--samples", options.samples, "Measurements of each case; CPU adapters take 5 at most")
      ->transform(count_text())
      ->check(positive_number())
      ->capture_default_str();
  program.writes(command.add_option("--json", options.json_path, "Also write the results into a file"))
      ->type_name("FILE");
}

}  // namespace upsweep::cli
