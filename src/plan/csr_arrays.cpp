// SPDX-License-Identifier: Apache-2.0
#include "upsweep/csr_arrays.h"

#include <algorithm>
#include <cmath>
#include <format>
#include <numeric>

namespace upsweep::host {

std::uint32_t CsrArrays::longest_row() const {
  std::uint32_t longest = 0;
  for (std::size_t r = 0; r < row_count; ++r) longest = std::max(longest, row_offsets[r + 1] - row_offsets[r]);
  return longest;
}

Status check_csr(const CsrArrays& matrix) {
  const auto refuse = [](std::string message) { return fail(ErrorKind::invalid_request, std::move(message)); };
  const std::size_t rows = matrix.row_count;
  if (matrix.row_offsets.size() != rows + 1) {
    return refuse(
        std::format("{} row offsets are not those of {} rows (one more than rows).", matrix.row_offsets.size(), rows));
  }
  if (matrix.row_offsets[0] != 0 || matrix.row_offsets[rows] != matrix.columns.size()) {
    return refuse(std::format("Row offsets from {} to {} are not those of {} entries.", matrix.row_offsets[0],
                              matrix.row_offsets[rows], matrix.columns.size()));
  }
  if (!matrix.values.empty() && matrix.values.size() != matrix.columns.size()) {
    return refuse(std::format("{} values do not go with {} columns.", matrix.values.size(), matrix.columns.size()));
  }
  for (std::size_t r = 0; r < rows; ++r) {
    const std::uint32_t begin = matrix.row_offsets[r];
    const std::uint32_t end = matrix.row_offsets[r + 1];
    if (end < begin) {
      return refuse(
          std::format("Row {} begins at entry {} and ends at {}; rows and entries count from 0.", r, begin, end));
    }
    // Offsets that descend later may pass the end before they do.
    for (std::uint32_t e = begin; e < end && e < matrix.columns.size(); ++e) {
      if (matrix.columns[e] >= matrix.column_count) {
        return refuse(
            std::format("Row {} has an entry in column {}; there are {} columns; rows and columns count from 0.", r,
                        matrix.columns[e], matrix.column_count));
      }
    }
  }
  return {};
}

Status check_finite(const CsrArrays& matrix) {
  for (std::size_t r = 0; r < matrix.row_count; ++r) {
    for (std::uint32_t e = matrix.row_offsets[r]; e < matrix.row_offsets[r + 1]; ++e) {
      if (std::isfinite(matrix.value(e))) continue;
      return fail(ErrorKind::invalid_request,
                  std::format("The entry in row {}, column {} is {}; rows and columns count from 0.", r,
                              matrix.columns[e], matrix.value(e)));
    }
  }
  return {};
}

CsrMatrix transpose(const CsrArrays& matrix) {
  CsrMatrix turned{.row_count = matrix.column_count, .column_count = matrix.row_count};
  turned.row_offsets.assign(std::size_t{matrix.column_count} + 1, 0);
  turned.columns.resize(matrix.columns.size());
  turned.values.resize(matrix.values.size());
  for (const std::uint32_t column : matrix.columns) ++turned.row_offsets[column + std::size_t{1}];
  std::partial_sum(turned.row_offsets.begin(), turned.row_offsets.end(), turned.row_offsets.begin());
  std::vector<std::uint32_t> next(turned.row_offsets.begin(), turned.row_offsets.end() - 1);
  for (std::uint32_t r = 0; r < matrix.row_count; ++r) {
    for (std::uint32_t e = matrix.row_offsets[r]; e < matrix.row_offsets[r + std::size_t{1}]; ++e) {
      const std::uint32_t place = next[matrix.columns[e]]++;
      turned.columns[place] = r;
      if (!matrix.values.empty()) turned.values[place] = matrix.values[e];
    }
  }
  return turned;
}

}  // namespace upsweep::host
