// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/sparse_formats.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <format>
#include <functional>
#include <span>

#include "plan/grid.h"

namespace upsweep::bench {
namespace {

// Times the memory of compressed rows.
constexpr double most_growth = 4;

std::uint64_t entry_count(const CsrMatrix& matrix) { return matrix.columns.size(); }

// As wide as leaves a third of the rows at least as long (Bell and Garland 2009).
std::uint32_t hybrid_width(const CsrMatrix& matrix) {
  std::vector<std::uint32_t> rows_of_length(std::size_t{matrix.longest_row()} + 1);
  for (std::uint32_t row = 0; row < matrix.row_count; ++row) ++rows_of_length[matrix.row_length(row)];
  auto width = static_cast<std::uint32_t>(rows_of_length.size() - 1);
  for (std::uint64_t rows = rows_of_length[width]; width > 0 && rows < matrix.row_count / 3;
       rows += rows_of_length[width])
    --width;
  return width;
}

// Calls take(block row, block columns that ascend).
void for_each_block_row(const CsrMatrix& matrix, std::uint32_t block_size, const auto& take) {
  std::vector<std::uint32_t> block_columns;
  for (std::uint32_t first = 0; first < matrix.row_count; first += block_size) {
    const std::uint32_t end = std::min(matrix.row_count, first + block_size);
    block_columns.clear();
    for (std::uint32_t k = matrix.row_offsets[first]; k < matrix.row_offsets[end]; ++k) {
      const std::uint32_t block = matrix.columns[k] / block_size;
      if (block_columns.empty() || block_columns.back() != block) block_columns.push_back(block);
    }
    std::ranges::sort(block_columns);
    block_columns.erase(std::ranges::unique(block_columns).begin(), block_columns.end());
    take(first / block_size, block_columns);
  }
}

std::uint32_t block_width(const CsrMatrix& matrix, std::uint32_t block_size) {
  std::size_t width = 0;
  for_each_block_row(matrix, block_size, [&](std::uint32_t, const std::vector<std::uint32_t>& blocks) {
    width = std::max(width, blocks.size());
  });
  return static_cast<std::uint32_t>(width);
}

std::uint64_t slice_places(const CsrMatrix& matrix, bool is_sorted) {
  std::vector<std::uint32_t> lengths(matrix.row_count);
  for (std::uint32_t row = 0; row < matrix.row_count; ++row) lengths[row] = matrix.row_length(row);
  const auto for_each_part = [&](std::size_t size, const auto& take) {
    for (std::size_t first = 0; first < lengths.size(); first += size) {
      take(std::span(lengths).subspan(first, std::min(size, lengths.size() - first)));
    }
  };
  if (is_sorted)
    for_each_part(usual_window_rows,
                  [](std::span<std::uint32_t> window) { std::ranges::sort(window, std::greater()); });
  std::uint64_t places = 0;
  for_each_part(usual_slice_rows, [&](std::span<std::uint32_t> slice) {
    places += std::uint64_t{std::ranges::max(slice)} * usual_slice_rows;
  });
  return places;
}

// Of columns and values.
std::uint64_t stored_bytes(const CsrMatrix& matrix, const FormatChoice& choice) {
  switch (choice.format) {
    case SparseFormat::csr:
    case SparseFormat::hybrid: break;
    case SparseFormat::coo: return entry_count(matrix) * 12;
    case SparseFormat::ell: return std::uint64_t{matrix.longest_row()} * matrix.row_count * 8;
    case SparseFormat::sliced_ell: return slice_places(matrix, choice.is_sorted) * 8;
    case SparseFormat::block_ell: {
      const std::uint64_t slots =
          std::uint64_t{block_width(matrix, choice.block_size)} * div_ceil(matrix.row_count, choice.block_size);
      return slots * (4 + 4 * std::uint64_t{choice.block_size} * choice.block_size);
    }
  }
  return entry_count(matrix) * 8;
}

void store_slots(const CsrMatrix& matrix, std::uint32_t width, StoredMatrix& stored) {
  const std::size_t rows = matrix.row_count;
  stored.shape.width = width;
  stored.columns.assign(width * rows, no_column);
  stored.values.assign(width * rows, 0);
  for (std::uint32_t row = 0; row < matrix.row_count; ++row) {
    const std::uint32_t begin = matrix.row_offsets[row];
    for (std::uint32_t slot = 0; slot < std::min(width, matrix.row_length(row)); ++slot) {
      stored.columns[slot * rows + row] = matrix.columns[begin + slot];
      stored.values[slot * rows + row] = matrix.values[begin + slot];
    }
  }
}

void store_rest(const CsrMatrix& matrix, std::uint32_t width, StoredMatrix& stored) {
  stored.rest_offsets.push_back(0);
  for (std::uint32_t row = 0; row < matrix.row_count; ++row) {
    if (matrix.row_length(row) <= width) continue;
    stored.rest_rows.push_back(row);
    for (std::uint32_t k = matrix.row_offsets[row] + width; k < matrix.row_offsets[row + 1]; ++k) {
      stored.rest_columns.push_back(matrix.columns[k]);
      stored.rest_values.push_back(matrix.values[k]);
    }
    stored.rest_offsets.push_back(static_cast<std::uint32_t>(stored.rest_columns.size()));
  }
  stored.shape.rest_row_count = static_cast<std::uint32_t>(stored.rest_rows.size());
  stored.shape.rest_entry_count = static_cast<std::uint32_t>(stored.rest_columns.size());
}

void store_blocks(const CsrMatrix& matrix, std::uint32_t size, StoredMatrix& stored) {
  const std::uint32_t width = block_width(matrix, size);
  const auto block_rows = static_cast<std::size_t>(div_ceil(matrix.row_count, size));
  stored.shape.width = width;
  stored.shape.block_size = size;
  stored.columns.assign(width * block_rows, no_column);
  stored.values.assign(width * block_rows * size * size, 0);
  for_each_block_row(matrix, size, [&](std::uint32_t block_row, const std::vector<std::uint32_t>& blocks) {
    for (std::size_t slot = 0; slot < blocks.size(); ++slot)
      stored.columns[slot * block_rows + block_row] = blocks[slot];
    const std::uint32_t first = block_row * size;
    for (std::uint32_t row = first; row < std::min(matrix.row_count, first + size); ++row) {
      // Both ascend.
      std::size_t slot = 0;
      for (std::uint32_t k = matrix.row_offsets[row]; k < matrix.row_offsets[row + 1]; ++k) {
        while (blocks[slot] != matrix.columns[k] / size) ++slot;
        const std::size_t column = matrix.columns[k] % size;
        stored.values[((slot * size + column) * block_rows + block_row) * size + (row - first)] = matrix.values[k];
      }
    }
  });
}

}  // namespace

std::optional<FormatChoice> parse_format(std::string_view name, std::string_view matrix_name) {
  if (name == "csr") return FormatChoice{.format = SparseFormat::csr};
  if (name == "coo") return FormatChoice{.format = SparseFormat::coo};
  if (name == "ell") return FormatChoice{.format = SparseFormat::ell};
  if (name == "sell") return FormatChoice{.format = SparseFormat::sliced_ell};
  if (name == "sell_sorted") return FormatChoice{.format = SparseFormat::sliced_ell, .is_sorted = true};
  if (name == "hybrid") return FormatChoice{.format = SparseFormat::hybrid};
  constexpr std::string_view blocks = "bell";
  if (!name.starts_with(blocks)) return std::nullopt;
  name.remove_prefix(blocks.size());
  FormatChoice choice{.format = SparseFormat::block_ell,
                      .block_size = matrix_name == to_string(MatrixKind::blocks3) ? 3u : 2u};
  if (name.empty()) return choice;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), choice.block_size);
  const bool is_size = error == std::errc() && end == name.data() + name.size() &&
                       std::ranges::contains(std::array{2u, 3u, 4u, 8u, 16u}, choice.block_size);
  return is_size ? std::optional(choice) : std::nullopt;
}

std::uint64_t StoredMatrix::bytes() const {
  return 4 * (row_offsets.size() + rows.size() + slice_offsets.size() + row_order.size() + columns.size() +
              values.size() + rest_rows.size() + rest_offsets.size() + rest_columns.size() + rest_values.size());
}

std::string refuse_format(const CsrMatrix& matrix, const FormatChoice& choice) {
  const std::uint64_t bytes = stored_bytes(matrix, choice);
  const std::uint64_t csr_bytes = entry_count(matrix) * 8 + matrix.row_offsets.size() * 4;
  const double growth = static_cast<double>(bytes) / static_cast<double>(csr_bytes);
  if (growth <= most_growth && bytes / 4 <= no_column) return {};
  return std::format("would take {:.1f} x the memory of csr", growth);
}

StoredMatrix store_matrix(const CsrMatrix& matrix, const FormatChoice& choice) {
  StoredMatrix stored;
  stored.shape.format = choice.format;
  stored.shape.row_count = matrix.row_count;
  stored.shape.column_count = matrix.column_count;
  switch (choice.format) {
    case SparseFormat::csr:
      stored.row_offsets = matrix.row_offsets;
      stored.columns = matrix.columns;
      stored.values = matrix.values;
      stored.shape.longest_row = matrix.longest_row();
      break;
    case SparseFormat::coo:
      stored.columns = matrix.columns;
      stored.values = matrix.values;
      stored.rows.reserve(matrix.columns.size());
      for (std::uint32_t row = 0; row < matrix.row_count; ++row)
        stored.rows.insert(stored.rows.end(), matrix.row_length(row), row);
      break;
    case SparseFormat::ell: store_slots(matrix, matrix.longest_row(), stored); break;
    case SparseFormat::sliced_ell: {
      Slices slices = make_slices(matrix, usual_slice_rows, choice.is_sorted ? usual_window_rows : 0);
      stored.shape.slice_rows = usual_slice_rows;
      stored.shape.is_reordered = choice.is_sorted;
      stored.slice_offsets = std::move(slices.slice_offsets);
      stored.row_order = std::move(slices.row_order);
      stored.columns = std::move(slices.columns);
      stored.values = std::move(slices.values);
      break;
    }
    case SparseFormat::block_ell: store_blocks(matrix, choice.block_size, stored); break;
    case SparseFormat::hybrid: {
      const std::uint32_t width = hybrid_width(matrix);
      store_slots(matrix, width, stored);
      store_rest(matrix, width, stored);
      break;
    }
  }
  stored.shape.entry_count = static_cast<std::uint32_t>(stored.columns.size());
  return stored;
}

}  // namespace upsweep::bench
