// SPDX-License-Identifier: Apache-2.0
// Sparse matrices: how they lie in buffers.
#pragma once

#include <cstdint>
#include <string>

#include "upsweep/buffer_view.h"
#include "upsweep/status.h"

namespace upsweep {

/// How the stored entries of a sparse matrix lie in buffers. Indices are u32 and count from 0. Entries of one place are
/// summed; stored zeros are entries. Entries of a row may come in any order.
enum class SparseFormat : std::uint8_t {
  /// Compressed sparse rows: row r has the entries row_offsets[r] to row_offsets[r + 1] of `columns` and `values`.
  csr,
  /// Coordinates: `rows`, `columns`, `values`, with ascending `rows`.
  coo,
  /// ELLPACK, slot-major: the entry of row r in slot s lies at s * row_stride + r. Unused slots have the column
  /// `no_column`; neither their value nor any x is read into the result.
  ell,
  /// ELLPACK in slices of `slice_rows` rows, each as wide as its longest row: slice i lies at slice_offsets[i] to
  /// slice_offsets[i + 1], and there slot s of its row j at s * slice_rows + j. With `is_reordered` place p of all
  /// slices
  /// holds row row_order[p]. Unused slots as in ELLPACK.
  sliced_ell,
  /// Dense blocks of `block_size` x `block_size` in ELLPACK: block slot s of block row q has its block column at
  /// columns[s * row_stride + q]; all of a block's elements take part, zeros too; the element in row i and column j of
  /// the block is the value at
  /// ((s * block_size + j) * row_stride + q) * block_size + i. Elements past the matrix's edge are ignored.
  block_ell,
  /// ELLPACK for the first `width` entries of each row, and the rest as compressed rows: the i-th row with a rest is
  /// rest_rows[i], with the entries rest_offsets[i] to rest_offsets[i + 1] of `rest_columns` and `rest_values`.
  hybrid,
};
[[nodiscard]] std::string to_string(SparseFormat format);

enum class SparseValues : std::uint8_t {
  f32,
  f16,   ///< Two a word; sums are f32. Needs no feature of the device.
  ones,  ///< No values are stored: the matrix is a pattern.
};
[[nodiscard]] std::string to_string(SparseValues values);

/// The column of an unused slot.
constexpr std::uint32_t no_column = 0xffffffffu;

/// What a matrix is and how it lies: sizes, no buffers. Fields that the format does not use are ignored.
struct SparseShape {
  SparseFormat format = SparseFormat::csr;
  SparseValues values = SparseValues::f32;
  std::uint32_t row_count = 0;
  std::uint32_t column_count = 0;
  std::uint32_t entry_count = 0;       ///< csr, coo: stored entries. sliced_ell: places, unused ones too.
  std::uint32_t longest_row = 0;       ///< csr: entries of the longest row where known; 0: unknown.
  std::uint32_t width = 0;             ///< ell, hybrid: slots a row; block_ell: block slots a block row.
  std::uint32_t row_stride = 0;        ///< ell, hybrid: rows; block_ell: block rows. 0: no padding between slots.
  std::uint32_t slice_rows = 32;       ///< sliced_ell.
  bool is_reordered = false;           ///< sliced_ell: with `row_order`.
  std::uint32_t block_size = 2;        ///< block_ell: 2, 3, 4, 8 or 16.
  std::uint32_t rest_row_count = 0;    ///< hybrid.
  std::uint32_t rest_entry_count = 0;  ///< hybrid.

  bool operator==(const SparseShape&) const = default;

  /// row_stride, or what 0 stands for.
  [[nodiscard]] std::uint32_t stride() const;
  /// Slices of sliced_ell, block rows of block_ell.
  [[nodiscard]] std::uint32_t group_count() const;
  /// Items in `columns` and in `values`, rest apart. Of block_ell: block slots, and their elements.
  [[nodiscard]] std::uint64_t column_items() const;
  [[nodiscard]] std::uint64_t value_items() const;
};
[[nodiscard]] std::string to_string(const SparseShape& shape);

/// Buffers of a matrix; leave those empty that its format does not use. All u32 but `values` and `rest_values`.
struct SparseBuffers {
  BufferView row_offsets = {};    ///< csr: row_count + 1.
  BufferView rows = {};           ///< coo: entry_count.
  BufferView slice_offsets = {};  ///< sliced_ell: group_count() + 1.
  BufferView row_order = {};      ///< sliced_ell, reordered: row_count.
  BufferView columns = {};        ///< column_items().
  BufferView values = {};         ///< value_items(); f16 in whole words; none for patterns.
  BufferView rest_rows = {};      ///< hybrid: rest_row_count.
  BufferView rest_offsets = {};   ///< hybrid: rest_row_count + 1.
  BufferView rest_columns = {};   ///< hybrid: rest_entry_count.
  BufferView rest_values = {};    ///< hybrid: rest_entry_count.
};

}  // namespace upsweep
