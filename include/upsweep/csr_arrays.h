// SPDX-License-Identifier: Apache-2.0
// A sparse matrix in arrays of the host, as the fronts of solvers take it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "upsweep/status.h"

namespace upsweep::host {

/// Compressed sparse rows: row r has the entries row_offsets[r] to row_offsets[r + 1] of `columns` and `values`, in any
/// order. Indices count from 0; entries of one place are summed. The caller keeps the arrays.
struct CsrArrays {
  std::uint32_t row_count = 0;
  std::uint32_t column_count = 0;
  std::span<const std::uint32_t> row_offsets;  ///< row_count + 1, the first 0, ascending.
  std::span<const std::uint32_t> columns;
  std::span<const double> values;  ///< As many as columns; none: every entry is 1.

  [[nodiscard]] double value(std::size_t entry) const { return values.empty() ? 1.0 : values[entry]; }
  [[nodiscard]] std::uint32_t longest_row() const;
};

/// Whether the arrays are a matrix: their lengths, ascending offsets, columns inside. The error names the first fault.
[[nodiscard]] Status check_csr(const CsrArrays& matrix);
/// Whether no value of a matrix that passes is infinite or NaN; the error names the first one.
[[nodiscard]] Status check_finite(const CsrArrays& matrix);

/// A matrix with arrays of its own.
struct CsrMatrix {
  std::uint32_t row_count = 0;
  std::uint32_t column_count = 0;
  std::vector<std::uint32_t> row_offsets;
  std::vector<std::uint32_t> columns;
  std::vector<double> values;

  [[nodiscard]] CsrArrays arrays() const { return {row_count, column_count, row_offsets, columns, values}; }
};
/// The transpose of a matrix that passes `check_csr`, its rows ordered by column; values only if the matrix has some.
[[nodiscard]] CsrMatrix transpose(const CsrArrays& matrix);

}  // namespace upsweep::host
