// SPDX-License-Identifier: Apache-2.0
// Files of matrices and of the vectors beside them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "commands.h"
#include "matrix_market.h"
#include "outputs.h"
#include "upsweep/csr_arrays.h"
#include "upsweep/device_traits.h"

namespace upsweep::cli {

// A sparse or dense matrix of a .mtx file as a list of entries.
Expected<matrix_market::Matrix> read_matrix(const std::string& path);
// The same, square; `command` begins the error.
Expected<matrix_market::Matrix> read_square_matrix(const std::string& path, std::string_view command);

// Refuses a matrix whose vectors of f4 the device cannot bind, before anything of their size is made: a header alone
// may say any size.
Outcome check_sizes(const matrix_market::Matrix& matrix, const std::string& path, const DeviceTraits& traits);

// As failed(), for what the matrix of a file is to blame for.
std::unexpected<Failure> failed_in(const std::string& path, const Error& error);

// "A.mtx: 3 x 4, 7 entries, symmetric"
std::string describe(const std::string& path, const matrix_market::Matrix& matrix);

// Its compressed rows; entries keep their order within rows.
host::CsrMatrix compressed_rows(const matrix_market::Matrix& matrix);
// The same with columns that ascend.
host::CsrMatrix ascending_rows(const matrix_market::Matrix& matrix);
// Makes one of neighbours in one place. For matrices with values and ascending columns.
void sum_duplicates(host::CsrMatrix& matrix);

// `count` numbers of a .npy file of any type, or of a .mtx file with one row or column. `what` is for messages: "X".
Expected<std::vector<double>> read_vector(const std::string& path, std::uint64_t count, std::string_view what);

// Refuses infinities and NaN.
Outcome check_finite(std::span<const double> items, const std::string& path, std::string_view what);

// One flat array of f4 or f8.
Outcome write_vector(ArrayFile& file, std::span<const float> items);
Outcome write_vector(ArrayFile& file, std::span<const double> items);

}  // namespace upsweep::cli
