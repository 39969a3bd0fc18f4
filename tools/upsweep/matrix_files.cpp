// SPDX-License-Identifier: Apache-2.0
#include "matrix_files.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <format>
#include <utility>

#include "npy.h"
#include "number.h"

namespace upsweep::cli {
namespace {

template <typename T>
Expected<std::vector<double>> read_as_doubles(const npy::Array& array, npy::Dtype type) {
  std::vector<T> items(array.item_count());
  if (const auto read = array.read_as(0, items.size(), type, std::as_writable_bytes(std::span(items))); !read) {
    return refuse(read.error());
  }
  return std::vector<double>(items.begin(), items.end());
}

Expected<std::vector<double>> read_npy(const std::string& path) {
  const auto array = npy::Array::open(path);
  if (!array) return refuse(array.error());
  if (npy::widens_exactly(array->dtype(), npy::Dtype::f8)) return read_as_doubles<double>(*array, npy::Dtype::f8);
  if (array->dtype() == npy::Dtype::i8) return read_as_doubles<std::int64_t>(*array, npy::Dtype::i8);
  return read_as_doubles<std::uint64_t>(*array, npy::Dtype::u8);
}

template <typename T>
Outcome write_items(ArrayFile& file, npy::Dtype type, std::span<const T> items) {
  const std::array shape{std::uint64_t{items.size()}};
  if (const auto ok = file.begin(type, shape); !ok) return ok;
  return file.append(std::as_bytes(items));
}

}  // namespace

Expected<matrix_market::Matrix> read_matrix(const std::string& path) {
  auto matrix = matrix_market::read(path);
  if (!matrix) return refuse(matrix.error());
  matrix_market::add_indices(*matrix);
  return std::move(*matrix);
}

Expected<matrix_market::Matrix> read_square_matrix(const std::string& path, std::string_view command) {
  auto matrix = read_matrix(path);
  if (matrix && matrix->row_count != matrix->column_count) {
    return refuse(std::format("{}: {} needs a square matrix, not one of {} x {}", npy::one_line(path), command,
                              matrix->row_count, matrix->column_count));
  }
  return matrix;
}

Outcome check_sizes(const matrix_market::Matrix& matrix, const std::string& path, const DeviceTraits& traits) {
  // One more for where rows end.
  const std::uint64_t bytes = 4 * (std::max(matrix.row_count, matrix.column_count) + 1);
  if (bytes <= traits.max_binding_bytes) return {};
  return refuse(std::format("{}: {} x {}: a vector takes {} bytes, more than the device's limit of one binding ({})",
                            npy::one_line(path), matrix.row_count, matrix.column_count, bytes,
                            traits.max_binding_bytes));
}

std::unexpected<Failure> failed_in(const std::string& path, const Error& error) {
  auto failure = failed(error);
  failure.error().message = std::format("{}: {}", npy::one_line(path), failure.error().message);
  return failure;
}

std::string describe(const std::string& path, const matrix_market::Matrix& matrix) {
  return std::format("{}: {} x {}, {} entries, {}", npy::one_line(path), matrix.row_count, matrix.column_count,
                     matrix.rows.size(), matrix_market::name_of(matrix.symmetry));
}

host::CsrMatrix compressed_rows(const matrix_market::Matrix& matrix) {
  host::CsrMatrix csr{.row_count = static_cast<std::uint32_t>(matrix.row_count),
                      .column_count = static_cast<std::uint32_t>(matrix.column_count),
                      .row_offsets = std::vector<std::uint32_t>(matrix.row_count + 1),
                      .columns = std::vector<std::uint32_t>(matrix.rows.size()),
                      .values = std::vector<double>(matrix.values.size())};
  for (const std::uint32_t row : matrix.rows) ++csr.row_offsets[std::size_t{row} + 1];
  for (std::size_t r = 0; r < matrix.row_count; ++r) csr.row_offsets[r + 1] += csr.row_offsets[r];
  std::vector<std::uint32_t> next(csr.row_offsets.begin(), csr.row_offsets.end() - 1);
  for (std::size_t e = 0; e < matrix.rows.size(); ++e) {
    const std::uint32_t at = next[matrix.rows[e]]++;
    csr.columns[at] = matrix.columns[e];
    if (!csr.values.empty()) csr.values[at] = matrix.values[e];
  }
  return csr;
}

host::CsrMatrix ascending_rows(const matrix_market::Matrix& matrix) {
  // Each transpose orders its rows.
  return host::transpose(host::transpose(compressed_rows(matrix).arrays()).arrays());
}

void sum_duplicates(host::CsrMatrix& matrix) {
  std::uint32_t stored = 0;
  for (std::size_t row = 0; row < matrix.row_count; ++row) {
    const std::uint32_t first = stored;
    for (std::uint32_t e = std::exchange(matrix.row_offsets[row], first); e < matrix.row_offsets[row + 1]; ++e) {
      if (stored != first && matrix.columns[stored - 1] == matrix.columns[e]) {
        matrix.values[stored - 1] += matrix.values[e];
        continue;
      }
      matrix.columns[stored] = matrix.columns[e];
      matrix.values[stored++] = matrix.values[e];
    }
  }
  matrix.row_offsets.back() = stored;
  matrix.columns.resize(stored);
  matrix.values.resize(stored);
}

Expected<std::vector<double>> read_vector(const std::string& path, std::uint64_t count, std::string_view what) {
  std::vector<double> items;
  if (path.ends_with(".mtx")) {
    auto matrix = matrix_market::read(path);
    if (!matrix) return refuse(matrix.error());
    if (matrix->format != matrix_market::Format::array || (matrix->row_count != 1 && matrix->column_count != 1)) {
      return refuse(std::format("{}: {} must be an array with one row or column", npy::one_line(path), what));
    }
    items = std::move(matrix->values);
  } else {
    auto read = read_npy(path);
    if (!read) return read;
    items = std::move(*read);
  }
  if (items.size() != count) {
    return refuse(std::format("{}: {} has {} items; the matrix needs one vector of {}", npy::one_line(path), what,
                              items.size(), count));
  }
  return items;
}

Outcome check_finite(std::span<const double> items, const std::string& path, std::string_view what) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!std::isfinite(items[i])) {
      return refuse(std::format("{}: item {} of {}, counted from 0, is {}", npy::one_line(path), i, what, items[i]));
    }
  }
  return {};
}

Outcome write_vector(ArrayFile& file, std::span<const float> items) { return write_items(file, npy::Dtype::f4, items); }
Outcome write_vector(ArrayFile& file, std::span<const double> items) {
  return write_items(file, npy::Dtype::f8, items);
}

}  // namespace upsweep::cli
