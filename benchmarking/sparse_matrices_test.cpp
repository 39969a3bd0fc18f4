// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/sparse_matrices.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>

namespace upsweep::bench {
namespace {

using ::testing::ElementsAre;

std::vector<std::uint32_t> columns_of(const CsrMatrix& matrix, std::uint32_t row) {
  return {matrix.columns.begin() + matrix.row_offsets[row], matrix.columns.begin() + matrix.row_offsets[row + 1]};
}

TEST(SparseMatrices, AreSoundAtEverySize) {
  for (const MatrixKind kind : matrix_kinds) {
    for (const std::uint32_t rows : {0u, 1u, 2u, 3u, 8u, 25u, 26u, 27u, 28u, 81u, 1000u}) {
      SCOPED_TRACE(std::string(to_string(kind)) + " " + std::to_string(rows));
      const CsrMatrix matrix = make_matrix(kind, rows);
      EXPECT_EQ(matrix.row_count, rows);
      EXPECT_EQ(matrix.column_count, rows);
      ASSERT_EQ(matrix.row_offsets.size(), rows + 1u);
      EXPECT_EQ(matrix.row_offsets.front(), 0u);
      EXPECT_EQ(matrix.row_offsets.back(), matrix.columns.size());
      EXPECT_EQ(matrix.values.size(), matrix.columns.size());
      for (std::uint32_t row = 0; row < rows; ++row) {
        const auto columns = columns_of(matrix, row);
        EXPECT_TRUE(std::ranges::is_sorted(columns));
        EXPECT_EQ(std::ranges::adjacent_find(columns), columns.end());
        if (!columns.empty()) {
          EXPECT_LT(columns.back(), rows);
        }
      }
      for (const float value : matrix.values) EXPECT_TRUE(value >= -1.0f && value < 1.0f);
    }
  }
}

TEST(SparseMatrices, HaveNames) {
  for (const MatrixKind kind : matrix_kinds) EXPECT_EQ(matrix_kind_from_name(to_string(kind)), kind);
  EXPECT_FALSE(matrix_kind_from_name("grid").has_value());
}

TEST(SparseMatrices, GridsCoupleNeighbours) {
  const CsrMatrix flat = make_matrix(MatrixKind::grid5, 16);
  EXPECT_THAT(columns_of(flat, 0), ElementsAre(0, 1, 4));
  EXPECT_THAT(columns_of(flat, 5), ElementsAre(1, 4, 5, 6, 9));
  EXPECT_THAT(columns_of(flat, 7), ElementsAre(3, 6, 7, 11));
  EXPECT_THAT(columns_of(flat, 12), ElementsAre(8, 12, 13));
  // The last line is cut off.
  const CsrMatrix cut = make_matrix(MatrixKind::grid5, 18);
  EXPECT_THAT(columns_of(cut, 15), ElementsAre(11, 14, 15));
  EXPECT_THAT(columns_of(cut, 17), ElementsAre(13, 16, 17));
  EXPECT_EQ(make_matrix(MatrixKind::grid5, 4096).columns.size(), 5u * 4096 - 4 * 64);

  const CsrMatrix cube = make_matrix(MatrixKind::grid27, 64);
  EXPECT_THAT(columns_of(cube, 0), ElementsAre(0, 1, 4, 5, 16, 17, 20, 21));
  EXPECT_EQ(cube.row_length(21), 27u);
  EXPECT_EQ(cube.columns.size(), 10u * 10 * 10);  // (3 * 4 - 2)^3
}

TEST(SparseMatrices, BlocksAreDense) {
  const CsrMatrix grid = make_matrix(MatrixKind::grid27, 64);
  const CsrMatrix blocks = make_matrix(MatrixKind::blocks3, 192);
  EXPECT_EQ(blocks.columns.size(), 9 * grid.columns.size());
  for (std::uint32_t row = 0; row < 192; ++row) {
    std::vector<std::uint32_t> expected;
    for (const std::uint32_t column : columns_of(grid, row / 3)) {
      for (std::uint32_t i = 0; i < 3; ++i) expected.push_back(3 * column + i);
    }
    EXPECT_EQ(columns_of(blocks, row), expected);
  }
}

TEST(SparseMatrices, OthersAreAsTheyAreCalled) {
  const CsrMatrix dense_row = make_matrix(MatrixKind::dense_row, 100);
  EXPECT_EQ(dense_row.columns.size(), 100u);
  EXPECT_EQ(dense_row.row_length(50), 100u);
  const CsrMatrix diagonal = make_matrix(MatrixKind::diagonal, 100);
  EXPECT_THAT(columns_of(diagonal, 99), ElementsAre(99));
  EXPECT_EQ(diagonal.longest_row(), 1u);
  const CsrMatrix uniform = make_matrix(MatrixKind::uniform, 10'000);
  EXPECT_EQ(uniform.longest_row(), 24u);
  EXPECT_NEAR(static_cast<double>(uniform.columns.size()), 160'000.0, 2'000.0);
}

TEST(SparseMatrices, PowerLawHasFewLongRowsAndFewPopularColumns) {
  const CsrMatrix matrix = make_matrix(MatrixKind::power_law, 50'000);
  const double mean = static_cast<double>(matrix.columns.size()) / 50'000;
  EXPECT_GT(mean, 5);
  EXPECT_LT(mean, 9);
  EXPECT_GT(matrix.longest_row(), 1'000u);
  std::vector<std::uint32_t> uses(50'000);
  for (const std::uint32_t column : matrix.columns) ++uses[column];
  EXPECT_GT(std::ranges::max(uses), 1'000u);
  std::vector<std::uint32_t> lengths(50'000);
  for (std::uint32_t row = 0; row < 50'000; ++row) lengths[row] = matrix.row_length(row);
  for (std::vector<std::uint32_t>* counts : {&lengths, &uses}) {
    std::ranges::nth_element(*counts, counts->begin() + 25'000);
    EXPECT_LE((*counts)[25'000], 3u);  // half of them
  }
}

TEST(SparseMatrices, ProductsAreCheckedRowByRow) {
  const CsrMatrix matrix{
      .row_count = 3, .column_count = 2, .row_offsets = {0, 2, 2, 3}, .columns = {0, 1, 1}, .values = {2, 3, 0.5f}};
  const ProductReference expected = multiply(matrix, std::vector<float>{1, -1});
  EXPECT_THAT(expected.sums, ElementsAre(-1, 0, -0.5));
  EXPECT_THAT(expected.magnitudes, ElementsAre(5, 0, 0.5));
  const auto is_right = [&](std::vector<float> y) { return check_product(expected, y).correct; };
  EXPECT_TRUE(is_right({-1, 0, -0.5f}));
  EXPECT_TRUE(is_right({-1.0000001f, 0, -0.5f}));
  EXPECT_FALSE(is_right({-1.00001f, 0, -0.5f}));
  EXPECT_FALSE(is_right({-1, 1e-20f, -0.5f}));  // no terms, no error
  EXPECT_FALSE(is_right({-1, 0, std::numeric_limits<float>::quiet_NaN()}));
  EXPECT_FALSE(is_right({-1, 0}));
}

}  // namespace
}  // namespace upsweep::bench
