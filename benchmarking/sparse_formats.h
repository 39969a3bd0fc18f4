// SPDX-License-Identifier: Apache-2.0
// The benchmarks' matrices in the formats of products, converted on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarking/sparse_matrices.h"
#include "upsweep/buffer_view.h"
#include "upsweep/sparse.h"
#include "upsweep/status.h"

namespace upsweep::bench {

class Session;

// Of sliced_ell, and within which rows are sorted: what SparseMatrix takes.
constexpr std::uint32_t usual_slice_rows = 32;
constexpr std::uint32_t usual_window_rows = 4096;

struct FormatChoice {
  SparseFormat format = SparseFormat::csr;
  bool is_sorted = false;        // sliced_ell: rows by length within windows
  std::uint32_t block_size = 0;  // block_ell
};
// "csr", "coo", "ell", "sell", "sell_sorted", "bell2" ... "bell16", "hybrid"; "bell" has blocks of 3 on blocks3,
// else 2.
std::optional<FormatChoice> parse_format(std::string_view name, std::string_view matrix_name);
constexpr std::string_view format_names =
    "csr, coo, ell, sell, sell_sorted, bell, bell2, bell3, bell4, bell8, bell16, hybrid";

// The arrays of SparseBuffers.
struct StoredMatrix {
  SparseShape shape;
  std::vector<std::uint32_t> row_offsets;
  std::vector<std::uint32_t> rows;
  std::vector<std::uint32_t> slice_offsets;
  std::vector<std::uint32_t> row_order;
  std::vector<std::uint32_t> columns;
  std::vector<float> values;
  std::vector<std::uint32_t> rest_rows;
  std::vector<std::uint32_t> rest_offsets;
  std::vector<std::uint32_t> rest_columns;
  std::vector<float> rest_values;

  [[nodiscard]] std::uint64_t bytes() const;
};

// Why the matrix is not to be had in the format: it would take many times the memory of the compressed rows. Else
// empty.
std::string refuse_format(const CsrMatrix& matrix, const FormatChoice& choice);
// Of a format that is not refused.
StoredMatrix store_matrix(const CsrMatrix& matrix, const FormatChoice& choice);

struct DeviceMatrix {
  SparseShape shape;
  SparseBuffers buffers;
};
// Into buffers of the session whose labels begin with `label`.
Result<DeviceMatrix> upload_matrix(Session& session, const StoredMatrix& stored, std::string_view label);
// `bytes` are whole words.
Result<BufferView> upload(Session& session, const std::string& label, std::span<const std::byte> bytes);

}  // namespace upsweep::bench
