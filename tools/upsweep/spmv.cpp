// SPDX-License-Identifier: Apache-2.0
// upsweep spmv: a sparse matrix of a file times a vector.
#include "upsweep/spmv.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <format>
#include <iostream>

#include "benchmarking/product_speed.h"
#include "json_result.h"
#include "matrix_files.h"
#include "upsweep/sparse_matrix.h"

namespace upsweep::cli {
namespace {

struct SpmvCommand {
  std::string matrix;
  std::string x;
  std::string output;
  std::string format = "auto";
  std::string values = "f32";
  std::uint32_t block_size = 0;
  std::uint32_t most_growth = 3;
  std::uint32_t repeat = 0;
  bool quiet = false;
  bool json = false;
};

constexpr std::pair<const char*, SparseFormat> formats[] = {
    {"csr", SparseFormat::csr},        {"ell", SparseFormat::ell}, {"sell", SparseFormat::sliced_ell},
    {"bell", SparseFormat::block_ell}, {"coo", SparseFormat::coo}, {"hybrid", SparseFormat::hybrid}};

std::string_view option_of(SparseFormat format) {
  return std::ranges::find(formats, format, &std::pair<const char*, SparseFormat>::second)->first;
}

Outcome run_spmv(Program& program, const SpmvCommand& command) {
  const auto start = std::chrono::steady_clock::now();
  if (command.output.empty() && command.repeat == 0) return refuse("spmv needs --output, --repeat or both");
  if (command.block_size != 0 && command.format != "bell") return refuse("--block-size goes with --format bell");
  const auto matrix = read_matrix(command.matrix);
  if (!matrix) return std::unexpected(matrix.error());
  std::vector<float> x(matrix->column_count, 1.0f);
  if (!command.x.empty()) {
    const auto read = read_vector(command.x, matrix->column_count, "X");
    if (!read) return std::unexpected(read.error());
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<float>((*read)[i]);
      if (std::isinf(x[i]) && !std::isinf((*read)[i])) {
        return refuse(std::format("{}: item {} of X is {}, beyond f4", npy::one_line(command.x), i, (*read)[i]));
      }
    }
  }
  Outputs outputs;
  if (const auto ok = outputs.open_if_named("--output", command.output); !ok) return ok;
  const auto context = open_context(program.global);
  if (!context) return std::unexpected(context.error());

  SparseMatrixOptions options{.block_size = command.block_size, .most_growth = command.most_growth};
  for (const auto& [name, format] : formats) {
    if (command.format == name) options.format = format;
  }
  if (command.values == "f16") options.values = SparseValues::f16;
  const host::CooArrays entries{.row_count = static_cast<std::uint32_t>(matrix->row_count),
                                .column_count = static_cast<std::uint32_t>(matrix->column_count),
                                .rows = matrix->rows,
                                .columns = matrix->columns,
                                .values = matrix->values};
  const auto on_device = SparseMatrix::create(**context, entries, options);
  if (!on_device) return failed_in(command.matrix, on_device.error());
  const auto y = host::multiply(**context, *on_device, x);
  if (!y) return failed_in(command.matrix, y.error());
  std::optional<bench::ProductSpeed> speed;
  if (command.repeat != 0) {
    const auto measured = bench::measure_product(**context, *on_device, command.repeat);
    if (!measured) return failed_in(command.matrix, measured.error());
    speed = *measured;
  }
  if (const auto ok = check_device(**context); !ok) return ok;
  if (ArrayFile* output = outputs.find("--output"); output != nullptr) {
    if (const auto ok = write_vector(*output, std::span<const float>(*y)); !ok) return ok;
  }
  if (const auto ok = outputs.commit(); !ok) return ok;

  const SparseAnalysis& analysis = on_device->analysis();
  const double flops = 2 * static_cast<double>(matrix->rows.size());
  if (command.json) {
    nlohmann::ordered_json json{{"rows", matrix->row_count},
                                {"columns", matrix->column_count},
                                {"entries", matrix->rows.size()},
                                {"format", option_of(on_device->shape().format)},
                                {"values", to_string(on_device->shape().values)},
                                {"bytes", analysis.bytes},
                                {"csr_bytes", analysis.csr_bytes},
                                {"analysis_seconds", analysis.statistics_seconds},
                                {"conversion_seconds", analysis.conversion_seconds}};
    if (speed && speed->seconds > 0) {
      json["product_seconds"] = speed->seconds;
      json["gflop_per_s"] = flops / speed->seconds / 1e9;
      json["gb_per_s"] = speed->bytes_per_second / 1e9;
      json["copy_gb_per_s"] = speed->copy_bytes_per_second / 1e9;
    }
    print_json(std::move(json), **context, start);
  } else if (!command.quiet) {
    std::cerr << describe(command.matrix, *matrix) << '\n'
              << to_string(on_device->shape()) << ": " << analysis.reason << '\n';
    if (speed && speed->seconds > 0) {
      std::cout << std::format(
          "{:.6g} us a product, {:.4g} GFLOP/s, {:.4g} GB/s ({:.0f} % of copying at {:.4g} GB/s)\n",
          speed->seconds * 1e6, flops / speed->seconds / 1e9, speed->bytes_per_second / 1e9,
          100 * speed->bytes_per_second / speed->copy_bytes_per_second, speed->copy_bytes_per_second / 1e9);
    }
  }
  return {};
}

constexpr const char* spmv_examples = R"(  upsweep spmv A.mtx X.npy -o Y.npy
  upsweep spmv A.mtx --repeat 20 --format ell
Without X it is all ones. Y is f4. Entries of one place are summed. The device sorts the entries into compressed rows,
looks at their lengths and blocks, and converts them to ell, sell, bell or hybrid, whichever moves the fewest bytes if
padding costs little, else leaves them; or to the format that --format asks for: csr, ell (ELLPACK), sell (sliced
ELLPACK), bell (block ELLPACK), hybrid, coo. X and values are rounded to f4, values with --values f16 to f2, before those
of one place are summed; sums are f4. Blocks hold zeros: in bell, which auto may choose, an infinity in X gives NaN in
rows of the same blocks. GB/s count the bytes of the format and of both vectors, each once.)";

}  // namespace

void add_spmv(Program& program) {
  auto command = std::make_shared<SpmvCommand>();
  CLI::App& app =
      program.add(program.app, "spmv", "Multiply a sparse matrix by a vector", spmv_examples, command, run_spmv);
  app.add_option("matrix", command->matrix, "Matrix Market file; - reads standard input")
      ->required()
      ->type_name("A.mtx");
  app.add_option("x", command->x, "Vector, .npy or .mtx; default: all ones")->type_name("X.npy");
  app.add_option("-o,--output", command->output, "File for the product")->type_name("Y.npy");
  app.add_option("--format", command->format, "How the matrix lies in memory")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "csr", "ell", "sell", "bell", "coo", "hybrid"}));
  app.add_option("--block-size", command->block_size, "Of --format bell; default: what takes the fewest bytes")
      ->check(CLI::IsMember({2, 3, 4, 8, 16}));
  app.add_option("--values", command->values, "f32 or f16")
      ->capture_default_str()
      ->check(CLI::IsMember({"f32", "f16"}));
  app.add_option("--most-growth", command->most_growth, "Refuse formats of more than so many times the bytes of csr")
      ->capture_default_str()
      ->check(CLI::Range(1u, 1'000'000u))
      ->type_name("N");
  app.add_option("--repeat", command->repeat, "Time the product, with so many samples")->type_name("N");
  app.add_flag("-q,--quiet", command->quiet, "No summary");
  app.add_flag("--json", command->json, "Print what happened as JSON");
}

}  // namespace upsweep::cli
