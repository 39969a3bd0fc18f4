// SPDX-License-Identifier: Apache-2.0
// Sparse matrices of the tests: a list of entries, put into every format by simple loops, and the dense product.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "testing/generators.h"
#include "upsweep/sparse.h"

namespace upsweep::testing {

struct Entry {
  std::uint32_t row = 0;
  std::uint32_t column = 0;
  float value = 0;
};

struct EntryList {
  std::uint32_t row_count = 0;
  std::uint32_t column_count = 0;
  std::vector<Entry> entries;  // any order, duplicates

  [[nodiscard]] std::vector<std::uint32_t> row_lengths() const {
    std::vector<std::uint32_t> lengths(row_count);
    for (const Entry& entry : entries) ++lengths[entry.row];
    return lengths;
  }
  [[nodiscard]] std::uint32_t longest_row() const {
    std::uint32_t longest = 0;
    for (const std::uint32_t length : row_lengths()) longest = std::max(longest, length);
    return longest;
  }
};

// A matrix in a format, as arrays.
struct SparseArrays {
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
};

inline std::vector<std::vector<Entry>> entries_by_row(const EntryList& list) {
  std::vector<std::vector<Entry>> rows(list.row_count);
  for (const Entry& entry : list.entries) rows[entry.row].push_back(entry);
  return rows;
}

// Values of unused places that would show in any result.
constexpr float poison_value = 1e30f;

inline SparseArrays csr_of(const EntryList& list) {
  SparseArrays m;
  m.shape = {.format = SparseFormat::csr,
             .row_count = list.row_count,
             .column_count = list.column_count,
             .entry_count = static_cast<std::uint32_t>(list.entries.size())};
  m.row_offsets.push_back(0);
  for (const auto& row : entries_by_row(list)) {
    for (const Entry& entry : row) {
      m.columns.push_back(entry.column);
      m.values.push_back(entry.value);
    }
    m.row_offsets.push_back(static_cast<std::uint32_t>(m.columns.size()));
  }
  return m;
}

inline SparseArrays coo_of(const EntryList& list) {
  SparseArrays m = csr_of(list);
  m.shape.format = SparseFormat::coo;
  for (std::uint32_t r = 0; r < list.row_count; ++r)
    m.rows.insert(m.rows.end(), m.row_offsets[r + 1] - m.row_offsets[r], r);
  return m;
}

// The first `width` entries of each row; the rest as compressed rows where the format is hybrid.
inline SparseArrays ell_of(const EntryList& list, SparseFormat format, std::uint32_t width, std::uint32_t padding) {
  SparseArrays m;
  m.shape = {.format = format,
             .row_count = list.row_count,
             .column_count = list.column_count,
             .width = width,
             .row_stride = list.row_count + padding};
  const std::uint32_t stride = m.shape.stride();
  m.columns.assign(m.shape.column_items(), no_column);
  m.values.assign(m.columns.size(), poison_value);
  m.rest_offsets.push_back(0);
  const auto rows = entries_by_row(list);
  for (std::uint32_t r = 0; r < list.row_count; ++r) {
    for (std::uint32_t s = 0; s < rows[r].size(); ++s) {
      const Entry& entry = rows[r][s];
      if (s < width) {
        m.columns[s * stride + r] = entry.column;
        m.values[s * stride + r] = entry.value;
        continue;
      }
      m.rest_columns.push_back(entry.column);
      m.rest_values.push_back(entry.value);
    }
    if (rows[r].size() > width) {
      m.rest_rows.push_back(r);
      m.rest_offsets.push_back(static_cast<std::uint32_t>(m.rest_columns.size()));
    }
  }
  m.shape.rest_row_count = static_cast<std::uint32_t>(m.rest_rows.size());
  m.shape.rest_entry_count = static_cast<std::uint32_t>(m.rest_columns.size());
  return m;
}

inline SparseArrays sliced_ell_of(const EntryList& list, std::uint32_t slice_rows, bool is_reordered) {
  SparseArrays m;
  m.shape = {.format = SparseFormat::sliced_ell,
             .row_count = list.row_count,
             .column_count = list.column_count,
             .slice_rows = slice_rows,
             .is_reordered = is_reordered};
  const auto rows = entries_by_row(list);
  for (std::uint32_t r = 0; r < list.row_count; ++r) m.row_order.push_back(r);
  if (is_reordered) {
    std::ranges::stable_sort(m.row_order, std::greater<>(), [&](std::uint32_t r) { return rows[r].size(); });
  }
  m.slice_offsets.push_back(0);
  for (std::uint32_t first = 0; first < list.row_count; first += slice_rows) {
    std::size_t width = 0;
    for (std::uint32_t p = first; p < std::min(first + slice_rows, list.row_count); ++p) {
      width = std::max(width, rows[m.row_order[p]].size());
    }
    const std::size_t begin = m.columns.size();
    m.columns.resize(begin + width * slice_rows, no_column);
    m.values.resize(m.columns.size(), poison_value);
    for (std::uint32_t p = first; p < std::min(first + slice_rows, list.row_count); ++p) {
      for (std::size_t s = 0; s < rows[m.row_order[p]].size(); ++s) {
        m.columns[begin + s * slice_rows + p - first] = rows[m.row_order[p]][s].column;
        m.values[begin + s * slice_rows + p - first] = rows[m.row_order[p]][s].value;
      }
    }
    m.slice_offsets.push_back(static_cast<std::uint32_t>(m.columns.size()));
  }
  m.shape.entry_count = static_cast<std::uint32_t>(m.columns.size());
  return m;
}

inline SparseArrays block_ell_of(const EntryList& list, std::uint32_t block, std::uint32_t padding) {
  SparseArrays m;
  m.shape = {.format = SparseFormat::block_ell,
             .row_count = list.row_count,
             .column_count = list.column_count,
             .block_size = block};
  const std::uint32_t block_rows = m.shape.group_count();
  m.shape.row_stride = block_rows + padding;
  std::vector<std::vector<std::uint32_t>> block_columns(block_rows);
  for (const Entry& entry : list.entries) {
    auto& columns = block_columns[entry.row / block];
    if (!std::ranges::contains(columns, entry.column / block)) columns.push_back(entry.column / block);
  }
  for (const auto& columns : block_columns) {
    m.shape.width = std::max(m.shape.width, static_cast<std::uint32_t>(columns.size()));
  }
  const std::uint32_t stride = m.shape.stride();
  m.columns.assign(m.shape.column_items(), no_column);
  m.values.assign(m.shape.value_items(), poison_value);
  for (std::uint32_t q = 0; q < block_rows; ++q) {
    for (std::uint32_t s = 0; s < block_columns[q].size(); ++s) {
      m.columns[s * stride + q] = block_columns[q][s];
      for (std::uint32_t j = 0; j < block; ++j) {
        const bool is_inside = block_columns[q][s] * block + j < list.column_count;
        for (std::uint32_t i = 0; i < block; ++i) {
          if (is_inside) m.values[((s * block + j) * stride + q) * block + i] = 0;
        }
      }
    }
  }
  for (const Entry& entry : list.entries) {
    const std::uint32_t q = entry.row / block;
    const auto s = static_cast<std::uint32_t>(std::ranges::find(block_columns[q], entry.column / block) -
                                              block_columns[q].begin());
    m.values[((s * block + entry.column % block) * stride + q) * block + entry.row % block] += entry.value;
  }
  return m;
}

// What each row must come to, and the sum of its terms' magnitudes. Terms of `vector`.
struct RowSums {
  std::vector<double> sums;
  std::vector<double> magnitudes;
  std::vector<std::uint32_t> terms;
};

inline RowSums dense_product(const EntryList& list, const std::vector<float>& x, std::uint32_t vectors) {
  RowSums result;
  const std::size_t items = std::size_t{list.row_count} * vectors;
  result.sums.assign(items, 0);
  result.magnitudes.assign(items, 0);
  result.terms.assign(items, 0);
  for (const Entry& entry : list.entries) {
    for (std::uint32_t v = 0; v < vectors; ++v) {
      const double term = double{entry.value} * x[std::size_t{entry.column} * vectors + v];
      const std::size_t item = std::size_t{entry.row} * vectors + v;
      result.sums[item] += term;
      result.magnitudes[item] += std::abs(term);
      ++result.terms[item];
    }
  }
  return result;
}

// Rows of random lengths up to `longest`, most of them short.
inline EntryList random_entries(std::uint32_t rows, std::uint32_t columns, std::uint32_t longest, std::uint64_t seed) {
  EntryList list{.row_count = rows, .column_count = columns, .entries = {}};
  if (columns == 0) return list;
  std::mt19937_64 random(seed);
  for (std::uint32_t r = 0; r < rows; ++r) {
    const std::uint64_t kind = random() % 8;
    std::uint64_t length = 0;
    if (kind == 7) {
      length = random() % (longest + 1);
    } else if (kind != 0) {
      length = random() % (std::min(longest, 6u) + 1);
    }
    for (std::uint64_t e = 0; e < length; ++e) {
      list.entries.push_back({r, static_cast<std::uint32_t>(random() % columns),
                              static_cast<float>(static_cast<std::int64_t>(random() % 2001) - 1000) / 256.0f});
    }
  }
  std::ranges::shuffle(list.entries, random);
  return list;
}

}  // namespace upsweep::testing
