// SPDX-License-Identifier: Apache-2.0
#include "upsweep/sparse.h"

#include <format>

#include "plan/grid.h"

namespace upsweep {

std::string to_string(SparseFormat format) {
  switch (format) {
    case SparseFormat::csr: return "csr";
    case SparseFormat::coo: return "coo";
    case SparseFormat::ell: return "ell";
    case SparseFormat::sliced_ell: return "sliced_ell";
    case SparseFormat::block_ell: return "block_ell";
    case SparseFormat::hybrid: return "hybrid";
  }
  return "?";
}

std::string to_string(SparseValues values) {
  switch (values) {
    case SparseValues::f32: return "f32";
    case SparseValues::f16: return "f16";
    case SparseValues::ones: return "ones";
  }
  return "?";
}

std::uint32_t SparseShape::group_count() const {
  const std::uint32_t rows = format == SparseFormat::block_ell ? block_size : slice_rows;
  return rows == 0 ? 0 : static_cast<std::uint32_t>(div_ceil(row_count, rows));
}

std::uint32_t SparseShape::stride() const {
  if (row_stride != 0) return row_stride;
  return format == SparseFormat::block_ell ? group_count() : row_count;
}

std::uint64_t SparseShape::column_items() const {
  switch (format) {
    case SparseFormat::csr:
    case SparseFormat::coo:
    case SparseFormat::sliced_ell: return entry_count;
    case SparseFormat::ell:
    case SparseFormat::block_ell:
    case SparseFormat::hybrid: return std::uint64_t{width} * stride();
  }
  return 0;
}

std::uint64_t SparseShape::value_items() const {
  return format == SparseFormat::block_ell ? column_items() * block_size * block_size : column_items();
}

std::string to_string(const SparseShape& shape) {
  std::string text = std::format("{} x {} {} of {}", shape.row_count, shape.column_count, to_string(shape.format),
                                 to_string(shape.values));
  switch (shape.format) {
    case SparseFormat::csr:
      text += std::format(", {} entries", shape.entry_count);
      if (shape.longest_row != 0) text += std::format(", at most {} a row", shape.longest_row);
      break;
    case SparseFormat::coo: text += std::format(", {} entries", shape.entry_count); break;
    case SparseFormat::ell: text += std::format(", {} slots a row", shape.width); break;
    case SparseFormat::sliced_ell:
      text += std::format(", slices of {} rows, {} places{}", shape.slice_rows, shape.entry_count,
                          shape.is_reordered ? ", reordered" : "");
      break;
    case SparseFormat::block_ell:
      text += std::format(", blocks of {} x {}, {} block slots a block row", shape.block_size, shape.block_size,
                          shape.width);
      break;
    case SparseFormat::hybrid:
      text += std::format(", {} slots a row, a rest of {} entries in {} rows", shape.width, shape.rest_entry_count,
                          shape.rest_row_count);
      break;
  }
  return text;
}

}  // namespace upsweep
