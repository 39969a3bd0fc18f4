// SPDX-License-Identifier: Apache-2.0
// Matrices from host arrays, in the library's format and in every other, against the dense product.
#include <gmock/gmock.h>

#include <format>
#include <limits>

#include "primitives/spmv/spmv_reference.h"
#include "testing/gpu_test.h"

namespace upsweep::testing {
namespace {

using ::testing::HasSubstr;

class SparseMatrixTest : public GpuTest {
 protected:
  struct Arrays {
    std::vector<std::uint32_t> rows;
    std::vector<std::uint32_t> columns;
    std::vector<double> values;
    host::CooArrays coo;
  };
  static Arrays arrays_of(const EntryList& list) {
    Arrays arrays;
    for (const Entry& entry : list.entries) {
      arrays.rows.push_back(entry.row);
      arrays.columns.push_back(entry.column);
      arrays.values.push_back(entry.value);
    }
    arrays.coo = {list.row_count, list.column_count, arrays.rows, arrays.columns, arrays.values};
    return arrays;
  }

  void check(const EntryList& list, const SparseMatrix& matrix) {
    SCOPED_TRACE(to_string(matrix.shape()));
    std::vector<float> x(list.column_count);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17) - 8;
    const RowSums expected = dense_product(list, x, 1);
    const auto y = host::multiply(context(), matrix, x);
    ASSERT_TRUE(y.has_value()) << y.error().message;
    ASSERT_EQ(y->size(), list.row_count);
    for (std::size_t r = 0; r < y->size(); ++r) {
      ASSERT_NEAR((*y)[r], expected.sums[r], (expected.terms[r] + 4) * 0x1p-23 * expected.magnitudes[r]) << "row " << r;
    }
    EXPECT_EQ(matrix.analysis().bytes, stored_bytes(matrix.shape()));
    EXPECT_FALSE(matrix.analysis().reason.empty());
  }

  std::string refusal(const host::CooArrays& coo, const SparseMatrixOptions& options = {}) {
    const auto matrix = SparseMatrix::create(context(), coo, options);
    return matrix ? "no error" : matrix.error().message;
  }
};
INSTANTIATE_TEST_SUITE_P(, SparseMatrixTest, ::testing::Values(Profile::full, Profile::minimum_limits), profile_name);

TEST_P(SparseMatrixTest, EveryFormatGivesTheDenseProduct) {
  const EntryList list = random_entries(300, 200, 12, test_seed());
  const Arrays arrays = arrays_of(list);
  for (const SparseFormat format : {SparseFormat::csr, SparseFormat::coo, SparseFormat::ell, SparseFormat::sliced_ell,
                                    SparseFormat::block_ell, SparseFormat::hybrid}) {
    const auto matrix = SparseMatrix::create(context(), arrays.coo, {.format = format, .most_growth = 30});
    ASSERT_TRUE(matrix.has_value()) << to_string(format) << ": " << matrix.error().message;
    EXPECT_EQ(matrix->shape().format, format);
    check(list, *matrix);
  }
}

TEST_P(SparseMatrixTest, TheLibraryChoosesByTheRows) {
  EntryList band{.row_count = 500, .column_count = 500, .entries = {}};
  EntryList blocks{.row_count = 300, .column_count = 300, .entries = {}};
  EntryList uneven{.row_count = 400, .column_count = 3000, .entries = {}};
  for (std::uint32_t r = 0; r < 500; ++r) {
    for (std::uint32_t k = 0; k < 3; ++k)
      band.entries.push_back({r, (r + 170 * k) % 500, 1.0f + static_cast<float>(k)});
  }
  for (std::uint32_t r = 0; r < 300; ++r) {
    for (std::uint32_t k = 0; k < 6; ++k) blocks.entries.push_back({r, (r / 3 * 3 + k) % 300, 2});
  }
  for (std::uint32_t c = 0; c < 3000; ++c) uneven.entries.push_back({7, c, 0.5f});
  for (std::uint32_t r = 100; r < 400; ++r) uneven.entries.push_back({r, r, 1});
  EntryList of_all_lengths{.row_count = 200, .column_count = 3000, .entries = {}};
  for (std::uint32_t r = 0; r < 200; ++r) {
    for (std::uint32_t k = 0; k < 2 * r; ++k) of_all_lengths.entries.push_back({r, 7 * k, 1});
  }
  for (const auto& [list, format] : {std::pair{&band, SparseFormat::ell},
                                     {&blocks, SparseFormat::block_ell},
                                     {&uneven, SparseFormat::hybrid},
                                     {&of_all_lengths, SparseFormat::csr}}) {
    const Arrays arrays = arrays_of(*list);
    const auto matrix = SparseMatrix::create(context(), arrays.coo);
    ASSERT_TRUE(matrix.has_value()) << matrix.error().message;
    EXPECT_EQ(matrix->shape().format, format) << matrix->analysis().reason;
    check(*list, *matrix);
  }
}

TEST_P(SparseMatrixTest, FromCompressedRows) {
  const EntryList list = random_entries(120, 90, 30, test_seed());
  const SparseArrays m = csr_of(list);
  const std::vector<double> values(m.values.begin(), m.values.end());
  const host::CsrArrays csr{120, 90, m.row_offsets, m.columns, values};
  auto made = SparseMatrix::create(context(), csr);
  ASSERT_TRUE(made.has_value()) << made.error().message;
  const SparseMatrix moved = std::move(*made);
  check(list, moved);
}

TEST_P(SparseMatrixTest, PatternsHalvesAndNothing) {
  EntryList list = random_entries(80, 70, 9, test_seed());
  Arrays arrays = arrays_of(list);
  const auto halves = SparseMatrix::create(context(), arrays.coo, {.values = SparseValues::f16});
  ASSERT_TRUE(halves.has_value()) << halves.error().message;
  EXPECT_EQ(halves->shape().values, SparseValues::f16);
  // Entries of one place are summed here as well.
  for (Entry& entry : list.entries) entry.value = 1;
  list.entries.push_back(list.entries.front());
  arrays = arrays_of(list);
  arrays.coo.values = {};
  const auto pattern = SparseMatrix::create(context(), arrays.coo, {.format = SparseFormat::csr});
  ASSERT_TRUE(pattern.has_value()) << pattern.error().message;
  EXPECT_EQ(pattern->shape().values, SparseValues::ones);
  check(list, *pattern);
  for (const auto& [rows, columns] : {std::pair{0u, 0u}, {4u, 0u}, {0u, 4u}, {4u, 4u}}) {
    const EntryList nothing{.row_count = rows, .column_count = columns, .entries = {}};
    const Arrays none = arrays_of(nothing);
    const auto matrix = SparseMatrix::create(context(), none.coo, {.format = SparseFormat::hybrid});
    ASSERT_TRUE(matrix.has_value()) << matrix.error().message;
    check(nothing, *matrix);
    EXPECT_EQ(matrix->shape().format, SparseFormat::csr);
    EXPECT_EQ(matrix->analysis().reason, "without entries there is nothing to store as hybrid");
  }
}

TEST_P(SparseMatrixTest, FaultsAreNamed) {
  const EntryList list{.row_count = 3, .column_count = 4, .entries = {{0, 3, 1}, {2, 1, 2}}};
  Arrays arrays = arrays_of(list);
  EXPECT_EQ(refusal(arrays.coo), "no error");
  host::CooArrays bad = arrays.coo;
  bad.row_count = 2;
  EXPECT_EQ(refusal(bad), "Entry 1 is in row 2; there are 2; all count from 0.");
  bad = arrays.coo;
  bad.column_count = 3;
  EXPECT_THAT(refusal(bad), HasSubstr("Entry 0 is in column 3; there are 3"));
  bad = arrays.coo;
  bad.values = bad.values.first(1);
  EXPECT_THAT(refusal(bad), HasSubstr("1 values are not the same entries"));
  arrays.values[1] = 1e300;
  EXPECT_THAT(refusal(arrays.coo), HasSubstr("The entry in row 2, column 1 is 1e+300, beyond the range of f32"));
  arrays.values[1] = 70000;
  EXPECT_THAT(refusal(arrays.coo, {.values = SparseValues::f16}), HasSubstr("beyond the range of f16"));
  arrays.values[1] = std::numeric_limits<double>::infinity();
  EXPECT_EQ(refusal(arrays.coo), "no error");
  // Row 1 is empty.
  const std::vector<std::uint32_t> offsets{0, 1, 1, 3};
  const std::vector<std::uint32_t> columns{3, 1, 2};
  const std::vector<double> values{1, 2, -1e300};
  const auto from_rows = SparseMatrix::create(
      context(),
      host::CsrArrays{.row_count = 3, .column_count = 4, .row_offsets = offsets, .columns = columns, .values = values});
  ASSERT_FALSE(from_rows.has_value());
  EXPECT_THAT(from_rows.error().message, HasSubstr("The entry in row 2, column 2 is -1e+300, beyond the range of f32"));
  EntryList uneven{.row_count = 200, .column_count = 200, .entries = {{0, 0, 1}}};
  for (std::uint32_t c = 0; c < 200; ++c) uneven.entries.push_back({5, c, 1});
  const Arrays one_long_row = arrays_of(uneven);
  EXPECT_THAT(refusal(one_long_row.coo, {.format = SparseFormat::ell}), HasSubstr("hybrid"));
  const auto matrix = SparseMatrix::create(context(), one_long_row.coo);
  ASSERT_TRUE(matrix.has_value());
  const auto product = host::multiply(context(), *matrix, std::vector<float>(3));
  ASSERT_FALSE(product.has_value());
  EXPECT_THAT(product.error().message, HasSubstr("3 items of x do not go with 200 columns"));
}

}  // namespace
}  // namespace upsweep::testing
