// SPDX-License-Identifier: Apache-2.0
// A sparse matrix on a device, in the format that suits it: analysed and converted once, multiplied many times.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "upsweep/buffer_view.h"
#include "upsweep/csr_arrays.h"
#include "upsweep/sparse.h"
#include "upsweep/sparse_convert.h"
#include "upsweep/spmv.h"
#include "upsweep/status.h"

namespace upsweep {

class Context;
class RecordTarget;

namespace host {

/// Entries of a matrix in arrays of the host, in any order. Indices count from 0.
struct CooArrays {
  std::uint32_t row_count = 0;
  std::uint32_t column_count = 0;
  std::span<const std::uint32_t> rows;
  std::span<const std::uint32_t> columns;  ///< As many as rows.
  std::span<const double> values;          ///< As many, or none: every entry is 1.
};

}  // namespace host

struct SparseMatrixOptions {
  std::optional<SparseFormat> format = {};  ///< Not set: the library's choice by what the rows look like.
  /// How values are stored: f32, f16 (rounded), or ones: values are ignored.
  SparseValues values = SparseValues::f32;
  std::uint32_t block_size = 0;   ///< With format block_ell; 0: 2, 3, 4, 8 or 16, whichever takes the fewest bytes.
  std::uint32_t most_growth = 3;  ///< A format of more than so many times the CSR's bytes is refused.
};

/// What was found out, and what it took.
struct SparseAnalysis {
  CsrStatistics statistics = {};
  std::string reason;             ///< Of the format, in a sentence.
  std::uint64_t csr_bytes = 0;    ///< Of the compressed rows.
  std::uint64_t bytes = 0;        ///< Of the format.
  double statistics_seconds = 0;  ///< Host time until the device's answer was there, pipelines included.
  double conversion_seconds = 0;  ///< The same of sorting, summing and converting.
};

/// Owns its buffers. Movable; the context must outlive it.
class SparseMatrix {
 public:
  /// From compressed rows. Entries of one place are summed by each product. Values are rounded to f32; finite ones
  /// beyond it are an error. Waits.
  [[nodiscard]] static Result<SparseMatrix> create(Context& context, const host::CsrArrays& csr,
                                                   const SparseMatrixOptions& options = {});
  /// From entries in any order, which the device sorts; those of one place are summed in f32, in patterns by each
  /// product. Up to 2^30 - 1 entries. Waits.
  [[nodiscard]] static Result<SparseMatrix> create(Context& context, const host::CooArrays& coo,
                                                   const SparseMatrixOptions& options = {});

  SparseMatrix(SparseMatrix&&) noexcept;
  SparseMatrix& operator=(SparseMatrix&&) noexcept;
  ~SparseMatrix();

  [[nodiscard]] const SparseShape& shape() const;
  [[nodiscard]] const SparseBuffers& buffers() const;  ///< For record_spmv and solvers.
  [[nodiscard]] const SparseAnalysis& analysis() const;

  /// y = alpha A x + beta y; see SpmvShape. Neither submits nor waits.
  [[nodiscard]] Status record_product(RecordTarget target, const BufferView& x, const BufferView& y, float alpha = 1,
                                      float beta = 0, std::uint32_t vector_count = 1) const;

 private:
  struct Impl;
  explicit SparseMatrix(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

namespace host {

/// A x, in f32 on the device. `x` has column_count items. Waits.
[[nodiscard]] Result<std::vector<float>> multiply(Context& context, const SparseMatrix& matrix,
                                                  std::span<const float> x);

}  // namespace host
}  // namespace upsweep
