// SPDX-License-Identifier: Apache-2.0
// upsweep spmv: a sparse matrix of a file times a vector.
#include "upsweep/spmv.h"

#include <chrono>
#include <cmath>
#include <format>
#include <iostream>

#include "benchmarking/product_speed.h"
#include "json_result.h"
#include "matrix_files.h"
#include "sparse_options.h"

namespace upsweep::cli {
namespace {

struct SpmvCommand : SparseOptions {
  std::string matrix;
  std::string x;
  std::string output;
  std::uint32_t repeat = 0;
  bool quiet = false;
  bool json = false;
};

Outcome run_spmv(Program& program, const SpmvCommand& command) {
  const auto start = std::chrono::steady_clock::now();
  if (command.output.empty() && command.repeat == 0) return refuse("spmv needs --output, --repeat or both");
  const auto options = read_sparse_options(command);
  if (!options) return std::unexpected(options.error());
  const auto matrix = read_matrix(command.matrix);
  if (!matrix) return std::unexpected(matrix.error());
  std::vector<float> x;
  if (!command.x.empty()) {
    const auto read = read_vector(command.x, matrix->column_count, "X");
    if (!read) return std::unexpected(read.error());
    x.resize(read->size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<float>((*read)[i]);
      if (std::isinf(x[i]) && !std::isinf((*read)[i])) {
        return refuse(
            std::format("{}: item {} of X, counted from 0, is {}, beyond f4", npy::one_line(command.x), i, (*read)[i]));
      }
    }
  }
  Outputs outputs;
  if (const auto ok = outputs.open_if_named("--output", command.output); !ok) return ok;
  const auto context = open_context(program.global);
  if (!context) return std::unexpected(context.error());

  if (const auto ok = check_sizes(*matrix, command.matrix, (*context)->traits()); !ok) return ok;
  if (command.x.empty()) x.assign(matrix->column_count, 1.0f);
  const auto on_device = to_device(**context, *matrix, command.matrix, *options);
  if (!on_device) return std::unexpected(on_device.error());
  const auto y = host::multiply(**context, *on_device, x);
  if (!y) return failed_in(command.matrix, y.error());
  std::optional<bench::ProductSpeed> speed;
  const bool has_rows = matrix->row_count != 0;
  if (command.repeat != 0 && has_rows) {
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
                                {"format", format_option(on_device->shape().format)},
                                {"values", to_string(on_device->shape().values)},
                                {"reason", in_option_names(analysis.reason)},
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
    return {};
  }
  if (!command.quiet) {
    std::cerr << describe(command.matrix, *matrix) << '\n'
              << in_option_names(to_string(on_device->shape()) + ": " + analysis.reason) << '\n';
  }
  if (command.repeat != 0 && !has_rows) std::cout << "the product has no rows: there is nothing to time\n";
  if (!speed) return {};
  if (speed->seconds == 0) {
    std::cout << "the product could not be timed\n";
    return {};
  }
  std::cout << std::format("{:.6g} us a product, {:.4g} GFLOP/s, {:.4g} GB/s ({:.0f} % of copying at {:.4g} GB/s)\n",
                           speed->seconds * 1e6, flops / speed->seconds / 1e9, speed->bytes_per_second / 1e9,
                           100 * speed->bytes_per_second / speed->copy_bytes_per_second,
                           speed->copy_bytes_per_second / 1e9);
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
  program.reads(app.add_option("matrix", command->matrix, "Matrix Market file; - reads standard input"))
      ->required()
      ->type_name("A.mtx");
  program.reads(app.add_option("x", command->x, "Vector, .npy or .mtx; default: all ones"))->type_name("X.npy");
  program.writes(app.add_option("-o,--output", command->output, "File for the product"))->type_name("Y.npy");
  add_sparse_options(app, *command);
  program.prints(app.add_option("--repeat", command->repeat, "Time the product, with so many samples"))
      ->transform(count_text())
      ->type_name("N");
  app.add_flag("-q,--quiet", command->quiet, "Nothing about the matrix and its format");
  program.prints(app.add_flag("--json", command->json, "Print what happened as JSON"));
}

}  // namespace upsweep::cli
