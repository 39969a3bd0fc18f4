// SPDX-License-Identifier: Apache-2.0
// What conversions mean, for tests: every place of a format asks which entry is there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <vector>

#include "testing/sparse_patterns.h"
#include "upsweep/sparse_convert.h"

namespace upsweep::testing {

struct Converted {
  SparseShape shape;
  std::vector<std::uint32_t> slice_offsets;
  std::vector<std::uint32_t> row_order;
  std::vector<std::uint32_t> columns;
  std::vector<float> values;
  std::vector<std::uint32_t> rest_rows;
  std::vector<std::uint32_t> rest_offsets;
  std::vector<std::uint32_t> rest_columns;
  std::vector<float> rest_values;
};

inline SparseShape result_shape(const CsrPattern& pattern, SparseFormat format, SparseValues type) {
  return {.format = format, .values = type, .row_count = pattern.row_count, .column_count = pattern.column_count};
}

// Slot `slot` of a row goes to `place`, if the row has so many entries.
inline void put_slot(Converted& result, const CsrPattern& pattern, std::size_t row, std::size_t slot,
                     std::size_t place) {
  if (row >= pattern.row_count || slot >= pattern.length(row)) return;
  result.columns.at(place) = pattern.columns[pattern.offsets[row] + slot];
  result.values.at(place) = pattern.values[pattern.offsets[row] + slot];
}

inline void make_room(Converted& result) {
  result.columns.assign(result.shape.column_items(), no_column);
  result.values.assign(result.shape.value_items(), 0);
}

inline Converted to_ell(const CsrPattern& pattern, SparseFormat format, SparseValues type, std::uint32_t width,
                        std::uint32_t row_stride) {
  Converted result{.shape = result_shape(pattern, format, type)};
  result.shape.width = width;
  result.shape.row_stride = row_stride;
  make_room(result);
  result.rest_offsets = {0};
  for (std::size_t row = 0; row < pattern.row_count; ++row) {
    for (std::size_t slot = 0; slot < width; ++slot) {
      put_slot(result, pattern, row, slot, slot * result.shape.stride() + row);
    }
    if (pattern.length(row) <= width) continue;
    result.rest_rows.push_back(static_cast<std::uint32_t>(row));
    for (std::size_t e = pattern.offsets[row] + width; e < pattern.offsets[row + 1]; ++e) {
      result.rest_columns.push_back(pattern.columns[e]);
      result.rest_values.push_back(pattern.values[e]);
    }
    result.rest_offsets.push_back(static_cast<std::uint32_t>(result.rest_columns.size()));
  }
  if (format == SparseFormat::hybrid) {
    result.shape.rest_row_count = static_cast<std::uint32_t>(result.rest_rows.size());
    result.shape.rest_entry_count = static_cast<std::uint32_t>(result.rest_columns.size());
  }
  return result;
}

inline Converted to_sliced_ell(const CsrPattern& pattern, SparseValues type, std::uint32_t slice_rows,
                               std::uint32_t window_rows) {
  Converted result{.shape = result_shape(pattern, SparseFormat::sliced_ell, type)};
  result.shape.slice_rows = slice_rows;
  result.shape.is_reordered = window_rows != 0;
  result.row_order.resize(pattern.row_count);
  std::iota(result.row_order.begin(), result.row_order.end(), 0u);
  for (std::size_t first = 0; window_rows != 0 && first < pattern.row_count; first += window_rows) {
    const std::size_t end = std::min<std::size_t>(pattern.row_count, first + window_rows);
    std::stable_sort(result.row_order.begin() + static_cast<std::ptrdiff_t>(first),
                     result.row_order.begin() + static_cast<std::ptrdiff_t>(end),
                     [&](std::uint32_t a, std::uint32_t b) { return pattern.length(a) > pattern.length(b); });
  }
  result.slice_offsets = {0};
  for (std::size_t first = 0; first < pattern.row_count; first += slice_rows) {
    std::uint32_t width = 0;
    for (std::size_t p = first; p < std::min<std::size_t>(pattern.row_count, first + slice_rows); ++p) {
      width = std::max(width, pattern.length(result.row_order[p]));
    }
    result.slice_offsets.push_back(result.slice_offsets.back() + width * slice_rows);
  }
  result.shape.entry_count = result.slice_offsets.back();
  make_room(result);
  for (std::size_t p = 0; p < pattern.row_count; ++p) {
    const std::size_t begin = result.slice_offsets[p / slice_rows] + p % slice_rows;
    for (std::size_t slot = 0; slot < pattern.length(result.row_order[p]); ++slot) {
      put_slot(result, pattern, result.row_order[p], slot, begin + slot * slice_rows);
    }
  }
  return result;
}

inline Converted to_block_ell(const CsrPattern& pattern, SparseValues type, std::uint32_t size,
                              std::uint32_t row_stride) {
  Converted result{.shape = result_shape(pattern, SparseFormat::block_ell, type)};
  if (type == SparseValues::ones) result.shape.values = SparseValues::f32;
  result.shape.block_size = size;
  result.shape.row_stride = row_stride;
  // By block row and block column.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<float>> blocks;
  std::vector<std::uint32_t> counts(result.shape.group_count(), 0);
  for (std::uint32_t row = 0; row < pattern.row_count; ++row) {
    for (std::size_t e = pattern.offsets[row]; e < pattern.offsets[row + std::size_t{1}]; ++e) {
      auto& block = blocks[{row / size, pattern.columns[e] / size}];
      block.resize(std::size_t{size} * size, 0);
      block[pattern.columns[e] % size * size + row % size] += type == SparseValues::ones ? 1 : pattern.values[e];
    }
  }
  for (const auto& [at, block] : blocks) ++counts[at.first];
  for (const std::uint32_t count : counts) result.shape.width = std::max(result.shape.width, count);
  make_room(result);
  std::ranges::fill(counts, 0);
  const std::size_t stride = result.shape.stride();
  for (const auto& [at, block] : blocks) {
    const std::size_t slot = counts[at.first]++;
    result.columns[slot * stride + at.first] = at.second;
    for (std::size_t j = 0; j < size; ++j) {
      for (std::size_t i = 0; i < size; ++i) {
        result.values[((slot * size + j) * stride + at.first) * size + i] = block[j * size + i];
      }
    }
  }
  return result;
}

}  // namespace upsweep::testing
