// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/ladder/spmv_ladder.h"

#include <array>

#include "benchmarking/ladder/cpu_steps.h"
#include "benchmarking/ladder/ladder_test.h"
#include "benchmarking/sparse_formats.h"
#include "benchmarking/sparse_matrices.h"

namespace upsweep::testing {
namespace {

using bench::CsrMatrix;
using bench::MatrixKind;

// The library's own steps are tested in its room.
class SpmvLadderGpu : public LadderGpu {
 protected:
  std::vector<float> multiply_row_major(const CsrMatrix& matrix, const std::vector<float>& x) {
    const bench::StoredMatrix slots = bench::store_matrix(matrix, {.format = SparseFormat::ell});
    const std::uint32_t width = slots.shape.width;
    const auto plan =
        bench::plan_row_major({.row_count = matrix.row_count, .column_count = matrix.column_count, .width = width},
                              context().traits(), workgroup_size());
    if (!plan) {
      ADD_FAILURE() << plan.error().message;
      return {};
    }
    const GuardedBuffer columns(context(), bytes_of(bench::to_row_major(slots.columns, matrix.row_count, width)));
    const GuardedBuffer values(context(), bytes_of(bench::to_row_major(slots.values, matrix.row_count, width)));
    const GuardedBuffer vector(context(), bytes_of(x));
    const GuardedBuffer result(context(), bytes_of(std::vector<float>(matrix.row_count, 77.0f)));
    const std::array arguments{Argument{"columns", columns.view()}, Argument{"values", values.view()},
                               Argument{"x", vector.view()}, Argument{"y", result.view()}};
    run([&](WGPUCommandEncoder encoder) { return context().record(encoder, *plan, arguments); });
    return items_of<float>(result.read_and_check_guards());
  }
};
INSTANTIATE_TEST_SUITE_P(, SpmvLadderGpu, ::testing::Values(Profile::full, Profile::tiny_tiles), profile_name);

TEST_P(SpmvLadderGpu, RowMajorGivesTheProduct) {
  for (const MatrixKind kind : bench::matrix_kinds) {
    SCOPED_TRACE(bench::to_string(kind));
    for (const std::uint32_t n : sizes()) {
      SCOPED_TRACE(n);
      const CsrMatrix matrix = bench::make_matrix(kind, std::min(n, 1500u));
      const std::vector<float> x = bench::make_vector(matrix.column_count);
      EXPECT_TRUE(bench::check_product(bench::multiply(matrix, x), multiply_row_major(matrix, x)).correct);
    }
  }
}

TEST_P(SpmvLadderGpu, UnusedSlotsReadNothing) {
  // Row 0 has one entry, row 1 has two; x at the column that a careless kernel would read is infinite.
  const CsrMatrix matrix{
      .row_count = 2, .column_count = 3, .row_offsets = {0, 1, 3}, .columns = {1, 1, 2}, .values = {2, 3, 4}};
  EXPECT_EQ(multiply_row_major(matrix, {std::numeric_limits<float>::infinity(), 1, 1}), (std::vector<float>{2, 7}));
}

TEST(CpuSteps, MultiplyRowsOfEveryLength) {
  for (const MatrixKind kind : bench::matrix_kinds) {
    const CsrMatrix matrix = bench::make_matrix(kind, 1'000);
    const std::vector<float> x = bench::make_vector(1'000);
    std::vector<float> y(1'000, 77.0f);
    bench::cpu_spmv(matrix.row_offsets, matrix.columns, matrix.values, x, y);
    EXPECT_TRUE(bench::check_product(bench::multiply(matrix, x), y).correct) << bench::to_string(kind);
  }
}

}  // namespace
}  // namespace upsweep::testing
