// SPDX-License-Identifier: Apache-2.0
// How a matrix is to lie on the device: options that commands share, and the library's words in theirs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "commands.h"
#include "matrix_market.h"
#include "upsweep/sparse_matrix.h"

namespace upsweep::cli {

struct SparseOptions {
  std::string format = "auto";
  std::string values = "f32";
  std::uint32_t block_size = 0;
  std::uint32_t most_growth = 3;
};
void add_sparse_options(CLI::App& command, SparseOptions& options);
Expected<SparseMatrixOptions> read_sparse_options(const SparseOptions& options);

// What --format calls it.
std::string_view format_option(SparseFormat format);
// A text of the library's, with the names of options for those of its fields and formats.
std::string in_option_names(std::string text);

// The matrix of file `path` on the device.
Expected<SparseMatrix> to_device(Context& context, const matrix_market::Matrix& matrix, const std::string& path,
                                 const SparseMatrixOptions& options);

}  // namespace upsweep::cli
