// SPDX-License-Identifier: Apache-2.0
#include "sparse_options.h"

#include <algorithm>
#include <utility>

#include "matrix_files.h"

namespace upsweep::cli {
namespace {

constexpr std::pair<const char*, SparseFormat> formats[] = {
    {"csr", SparseFormat::csr},        {"ell", SparseFormat::ell}, {"sell", SparseFormat::sliced_ell},
    {"bell", SparseFormat::block_ell}, {"coo", SparseFormat::coo}, {"hybrid", SparseFormat::hybrid}};

}  // namespace

void add_sparse_options(CLI::App& command, SparseOptions& options) {
  command.add_option("--format", options.format, "How the matrix lies in memory")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "csr", "ell", "sell", "bell", "coo", "hybrid"}));
  command.add_option("--block-size", options.block_size, "Of --format bell; default: what takes the fewest bytes")
      ->check(CLI::IsMember({2, 3, 4, 8, 16}));
  command.add_option("--values", options.values, "f32 or f16")
      ->capture_default_str()
      ->check(CLI::IsMember({"f32", "f16"}));
  command
      .add_option("--most-growth", options.most_growth, "Refuse formats of more than so many times the bytes of csr")
      ->capture_default_str()
      ->check(CLI::Range(1u, 1'000'000u))
      ->type_name("N");
}

Expected<SparseMatrixOptions> read_sparse_options(const SparseOptions& options) {
  if (options.block_size != 0 && options.format != "bell") return refuse("--block-size goes with --format bell");
  SparseMatrixOptions wanted{.block_size = options.block_size, .most_growth = options.most_growth};
  for (const auto& [name, format] : formats) {
    if (options.format == name) wanted.format = format;
  }
  if (options.values == "f16") wanted.values = SparseValues::f16;
  return wanted;
}

std::string_view format_option(SparseFormat format) {
  return std::ranges::find(formats, format, &std::pair<const char*, SparseFormat>::second)->first;
}

std::string in_option_names(std::string text) {
  for (const auto& [name, option] : {std::pair<std::string_view, std::string_view>{"most_growth", "--most-growth"},
                                     {"sliced_ell", "sell"},
                                     {"block_ell", "bell"},
                                     // Slices have one size here.
                                     {"hybrid or csr, or slices of fewer rows", "hybrid or csr"},
                                     // So has a hybrid: the library takes the best one.
                                     {"csr, or fewer slots", "csr"}}) {
    for (auto at = text.find(name); at != std::string::npos; at = text.find(name, at + option.size())) {
      text.replace(at, name.size(), option);
    }
  }
  return text;
}

Expected<SparseMatrix> to_device(Context& context, const matrix_market::Matrix& matrix, const std::string& path,
                                 const SparseMatrixOptions& options) {
  const host::CooArrays entries{.row_count = static_cast<std::uint32_t>(matrix.row_count),
                                .column_count = static_cast<std::uint32_t>(matrix.column_count),
                                .rows = matrix.rows,
                                .columns = matrix.columns,
                                .values = matrix.values};
  auto made = SparseMatrix::create(context, entries, options);
  if (made) return std::move(*made);
  Error error = made.error();
  error.message = in_option_names(std::move(error.message));
  return failed_in(path, error);
}

}  // namespace upsweep::cli
