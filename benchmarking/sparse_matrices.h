// SPDX-License-Identifier: Apache-2.0
// The sparse matrices of the benchmarks, made on the host and always the same, and what products with them must give.
// Nothing but the standard library: the cuSPARSE peer is built with this file.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace upsweep::bench {

/// All are square.
enum class MatrixKind : std::uint8_t {
  grid5,      ///< 5-point stencil on a square grid, line by line; the last line may be cut off.
  grid27,     ///< 27-point stencil on a cube, likewise.
  blocks3,    ///< Three unknowns a node of a cube, each coupled with all those of 27 nodes: dense 3 x 3 blocks.
  power_law,  ///< A graph with few long rows and few columns that are in many rows; about 7 entries a row.
  uniform,    ///< 8 to 24 entries a row, in any columns.
  dense_row,  ///< One full row in the middle; all others are empty.
  diagonal,   ///< One entry a row.
};
constexpr std::array matrix_kinds{MatrixKind::grid5,     MatrixKind::grid27,  MatrixKind::blocks3,
                                  MatrixKind::power_law, MatrixKind::uniform, MatrixKind::dense_row,
                                  MatrixKind::diagonal};
std::string_view to_string(MatrixKind kind);
std::optional<MatrixKind> matrix_kind_from_name(std::string_view name);

/// Rows that suit a large GPU: 2048 x 2048, 128^3, 3 * 64^3 ...
std::uint32_t usual_row_count(MatrixKind kind);

/// Compressed rows; columns of a row ascend and differ.
struct CsrMatrix {
  std::uint32_t row_count = 0;
  std::uint32_t column_count = 0;
  std::vector<std::uint32_t> row_offsets;  ///< row_count + 1
  std::vector<std::uint32_t> columns;
  std::vector<float> values;

  [[nodiscard]] std::uint32_t row_length(std::uint32_t row) const { return row_offsets[row + 1] - row_offsets[row]; }
  [[nodiscard]] std::uint32_t longest_row() const;
  /// Of its arrays and of one vector of rows and one of columns.
  [[nodiscard]] std::uint64_t product_bytes() const;
  [[nodiscard]] std::uint64_t product_flops() const { return 2 * std::uint64_t{columns.size()}; }
};

/// Values in [-1, 1). At most 2^32 - 1 entries.
CsrMatrix make_matrix(MatrixKind kind, std::uint32_t row_count);

/// A vector to multiply by: items in [-1, 1).
std::vector<float> make_vector(std::uint32_t item_count);

/// Compressed rows in slices of so many rows, slot-major; unused slots have the column 0xffffffff.
struct Slices {
  std::uint32_t slice_rows = 0;
  std::vector<std::uint32_t> slice_offsets;
  std::vector<std::uint32_t> row_order;  ///< Rows by place; empty: in their order.
  std::vector<std::uint32_t> columns;
  std::vector<float> values;
};
/// With `window_rows` (a multiple of slice_rows) rows are ordered by their length within windows.
Slices make_slices(const CsrMatrix& matrix, std::uint32_t slice_rows, std::uint32_t window_rows = 0);

/// A product in double.
struct ProductReference {
  std::vector<double> sums;
  std::vector<double> magnitudes;  ///< sum |a x|
  std::vector<std::uint32_t> lengths;
};
ProductReference multiply(const CsrMatrix& matrix, std::span<const float> x);

struct ProductVerdict {
  bool correct = false;
  double relative_error = 0;  ///< The largest |error| / sum |a x|.
};
/// Whether every item is within (entries + 4) 2^-24 sum |a x| of the reference.
ProductVerdict check_product(const ProductReference& expected, std::span<const float> y);

}  // namespace upsweep::bench
