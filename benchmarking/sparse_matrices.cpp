// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/sparse_matrices.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "benchmarking/hash.h"

namespace upsweep::bench {
namespace {

constexpr std::uint32_t value_seed = 2;
constexpr std::uint32_t vector_seed = 3;
constexpr std::uint32_t length_seed = 4;
constexpr std::uint32_t column_seed = 5;
constexpr std::uint32_t spread_seed = 6;

float signed_float(std::uint32_t hash) { return static_cast<float>(hash >> 8) * (1.0f / 8388608.0f) - 1.0f; }

// Adds rows one after the other.
class Rows {
 public:
  explicit Rows(std::uint32_t row_count) {
    matrix_.row_count = row_count;
    matrix_.column_count = row_count;
    matrix_.row_offsets.reserve(std::size_t{row_count} + 1);
    matrix_.row_offsets.push_back(0);
  }
  void reserve(std::size_t entry_count) { matrix_.columns.reserve(entry_count); }
  // Columns ascend; those outside are left out.
  void add(std::int64_t column) {
    if (column >= 0 && column < matrix_.column_count) matrix_.columns.push_back(static_cast<std::uint32_t>(column));
  }
  void end_row() { matrix_.row_offsets.push_back(static_cast<std::uint32_t>(matrix_.columns.size())); }
  // Columns of the row in any order, more than once, too.
  void end_unordered_row() {
    const auto begin = matrix_.columns.begin() + static_cast<std::ptrdiff_t>(matrix_.row_offsets.back());
    std::sort(begin, matrix_.columns.end());
    matrix_.columns.erase(std::unique(begin, matrix_.columns.end()), matrix_.columns.end());
    end_row();
  }
  CsrMatrix finish() && {
    matrix_.values.resize(matrix_.columns.size());
    for (std::size_t k = 0; k < matrix_.values.size(); ++k) {
      matrix_.values[k] = signed_float(input_hash(static_cast<std::uint32_t>(k), value_seed));
    }
    return std::move(matrix_);
  }

 private:
  CsrMatrix matrix_;
};

// The largest number whose power is not above.
std::int64_t whole_root(std::uint32_t number, int power) {
  auto root = static_cast<std::int64_t>(std::pow(number, 1.0 / power)) + 1;
  const auto raised = [&](std::int64_t base) { return power == 2 ? base * base : base * base * base; };
  while (root > 1 && raised(root) > number) --root;
  return root;
}

CsrMatrix make_grid5(std::uint32_t row_count) {
  Rows rows(row_count);
  rows.reserve(std::size_t{row_count} * 5);
  const std::int64_t side = whole_root(row_count, 2);
  for (std::int64_t row = 0; row < row_count; ++row) {
    rows.add(row - side);
    if (row % side > 0) rows.add(row - 1);
    rows.add(row);
    if (row % side < side - 1) rows.add(row + 1);
    rows.add(row + side);
    rows.end_row();
  }
  return std::move(rows).finish();
}

// `unknowns` of every node, coupled with those of the node's 27 neighbours.
CsrMatrix make_cube(std::uint32_t row_count, std::uint32_t unknowns) {
  Rows rows(row_count);
  rows.reserve(std::size_t{row_count} * 27 * unknowns);
  const std::int64_t side = whole_root(row_count / unknowns, 3);
  for (std::int64_t row = 0; row < row_count; ++row) {
    const std::int64_t node = row / unknowns;
    const std::int64_t node_x = node % side;
    const std::int64_t node_y = node / side % side;
    for (std::int64_t z = -1; z <= 1; ++z) {
      for (std::int64_t y = -1; y <= 1; ++y) {
        if (node_y + y < 0 || node_y + y >= side) continue;
        for (std::int64_t x = -1; x <= 1; ++x) {
          if (node_x + x < 0 || node_x + x >= side) continue;
          const std::int64_t other = node + (z * side + y) * side + x;
          for (std::int64_t u = 0; u < unknowns; ++u) rows.add(other * unknowns + u);
        }
      }
    }
    rows.end_row();
  }
  return std::move(rows).finish();
}

// Steps of a chance of `share` / 256 each, out of four hashes.
std::uint32_t count_lucky(std::uint32_t item, std::uint32_t seed, std::uint32_t share) {
  constexpr std::uint32_t most = 16;
  for (std::uint32_t step = 0; step < most; ++step) {
    const std::uint32_t byte = input_hash(item, seed + 16 * (step / 4)) >> (8 * (step % 4)) & 0xff;
    if (byte >= share) return step;
  }
  return most;
}

// Lengths of rows have a tail of n^-1.1, how often a column is met one of n^-1.3.
CsrMatrix make_power_law(std::uint32_t row_count) {
  constexpr std::uint32_t longer_share = 120;  // of 256 rows go on to be twice as long
  constexpr std::uint32_t column_shift = 4;
  Rows rows(row_count);
  rows.reserve(std::size_t{row_count} * 8);
  std::uint32_t draw = 0;
  for (std::uint32_t row = 0; row < row_count; ++row) {
    const std::uint64_t doublings = count_lucky(row, length_seed, longer_share);
    const std::uint64_t part = input_hash(row, length_seed + 1) >> 16;
    const std::uint64_t length = std::min<std::uint64_t>(row_count, ((65536 + part) << doublings) >> 16);
    for (std::uint64_t k = 0; k < length; ++k, ++draw) {
      const std::uint32_t hash = input_hash(draw, column_seed);
      const std::uint64_t rank =
          (std::uint64_t{hash} * row_count >> 32) >> (column_shift * count_lucky(draw, column_seed + 1, 128));
      // Popular columns lie anywhere.
      rows.add(static_cast<std::int64_t>(
          std::uint64_t{input_hash(static_cast<std::uint32_t>(rank), spread_seed)} * row_count >> 32));
    }
    rows.end_unordered_row();
  }
  return std::move(rows).finish();
}

CsrMatrix make_uniform(std::uint32_t row_count) {
  Rows rows(row_count);
  rows.reserve(std::size_t{row_count} * 16);
  std::uint32_t draw = 0;
  for (std::uint32_t row = 0; row < row_count; ++row) {
    const std::uint32_t length = 8 + input_hash(row, length_seed) % 17;
    for (std::uint32_t k = 0; k < length; ++k, ++draw) {
      rows.add(static_cast<std::int64_t>(std::uint64_t{input_hash(draw, column_seed)} * row_count >> 32));
    }
    rows.end_unordered_row();
  }
  return std::move(rows).finish();
}

CsrMatrix make_dense_row(std::uint32_t row_count) {
  Rows rows(row_count);
  rows.reserve(row_count);
  for (std::uint32_t row = 0; row < row_count; ++row) {
    if (row == row_count / 2) {
      for (std::uint32_t column = 0; column < row_count; ++column) rows.add(column);
    }
    rows.end_row();
  }
  return std::move(rows).finish();
}

CsrMatrix make_diagonal(std::uint32_t row_count) {
  Rows rows(row_count);
  rows.reserve(row_count);
  for (std::uint32_t row = 0; row < row_count; ++row) {
    rows.add(row);
    rows.end_row();
  }
  return std::move(rows).finish();
}

}  // namespace

std::string_view to_string(MatrixKind kind) {
  switch (kind) {
    case MatrixKind::grid5: return "grid5";
    case MatrixKind::grid27: return "grid27";
    case MatrixKind::blocks3: return "blocks3";
    case MatrixKind::power_law: return "power_law";
    case MatrixKind::uniform: return "uniform";
    case MatrixKind::dense_row: return "dense_row";
    case MatrixKind::diagonal: return "diagonal";
  }
  return "?";
}

std::optional<MatrixKind> matrix_kind_from_name(std::string_view name) {
  for (const MatrixKind kind : matrix_kinds) {
    if (to_string(kind) == name) return kind;
  }
  return std::nullopt;
}

std::uint32_t usual_row_count(MatrixKind kind) {
  switch (kind) {
    case MatrixKind::grid5: return 2048 * 2048;
    case MatrixKind::grid27: return 128 * 128 * 128;
    case MatrixKind::blocks3: return 3 * 64 * 64 * 64;
    case MatrixKind::power_law: return 1'000'000;
    case MatrixKind::uniform: return 1u << 20;
    case MatrixKind::dense_row: return 1u << 22;
    case MatrixKind::diagonal: return 1u << 24;
  }
  return 0;
}

std::uint32_t CsrMatrix::longest_row() const {
  std::uint32_t longest = 0;
  for (std::uint32_t row = 0; row < row_count; ++row) longest = std::max(longest, row_length(row));
  return longest;
}

std::uint64_t CsrMatrix::product_bytes() const {
  return 4 * (row_offsets.size() + columns.size() + values.size() + row_count + column_count);
}

CsrMatrix make_matrix(MatrixKind kind, std::uint32_t row_count) {
  switch (kind) {
    case MatrixKind::grid5: return make_grid5(row_count);
    case MatrixKind::grid27: return make_cube(row_count, 1);
    case MatrixKind::blocks3: return make_cube(row_count, 3);
    case MatrixKind::power_law: return make_power_law(row_count);
    case MatrixKind::uniform: return make_uniform(row_count);
    case MatrixKind::dense_row: return make_dense_row(row_count);
    case MatrixKind::diagonal: break;
  }
  return make_diagonal(row_count);
}

std::vector<float> make_vector(std::uint32_t item_count) {
  std::vector<float> items(item_count);
  for (std::uint32_t i = 0; i < item_count; ++i) items[i] = signed_float(input_hash(i, vector_seed));
  return items;
}

Slices make_slices(const CsrMatrix& matrix, std::uint32_t slice_rows, std::uint32_t window_rows) {
  Slices slices{.slice_rows = slice_rows, .slice_offsets = {0}, .row_order = {}, .columns = {}, .values = {}};
  const std::uint32_t rows = matrix.row_count;
  if (window_rows != 0) {
    slices.row_order.resize(rows);
    std::iota(slices.row_order.begin(), slices.row_order.end(), 0u);
    for (std::size_t first = 0; first < rows; first += window_rows) {
      const auto begin = slices.row_order.begin() + static_cast<std::ptrdiff_t>(first);
      const auto end =
          slices.row_order.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(rows, first + window_rows));
      std::stable_sort(begin, end,
                       [&](std::uint32_t a, std::uint32_t b) { return matrix.row_length(a) > matrix.row_length(b); });
    }
  }
  const auto row_of = [&](std::uint32_t place) { return window_rows == 0 ? place : slices.row_order[place]; };
  for (std::uint32_t first = 0; first < rows; first += slice_rows) {
    const std::uint32_t end = std::min(rows, first + slice_rows);
    std::uint32_t width = 0;
    for (std::uint32_t place = first; place < end; ++place) width = std::max(width, matrix.row_length(row_of(place)));
    const std::size_t base = slices.columns.size();
    slices.columns.resize(base + std::size_t{width} * slice_rows, 0xffffffffu);
    slices.values.resize(slices.columns.size());
    for (std::uint32_t place = first; place < end; ++place) {
      const std::uint32_t begin = matrix.row_offsets[row_of(place)];
      for (std::uint32_t slot = 0; slot < matrix.row_length(row_of(place)); ++slot) {
        const std::size_t at = base + std::size_t{slot} * slice_rows + (place - first);
        slices.columns[at] = matrix.columns[begin + slot];
        slices.values[at] = matrix.values[begin + slot];
      }
    }
    slices.slice_offsets.push_back(static_cast<std::uint32_t>(slices.columns.size()));
  }
  return slices;
}

ProductReference multiply(const CsrMatrix& matrix, std::span<const float> x) {
  ProductReference product;
  product.sums.resize(matrix.row_count);
  product.magnitudes.resize(matrix.row_count);
  product.lengths.resize(matrix.row_count);
  for (std::uint32_t row = 0; row < matrix.row_count; ++row) {
    double sum = 0;
    double magnitude = 0;
    for (std::uint32_t k = matrix.row_offsets[row]; k < matrix.row_offsets[row + 1]; ++k) {
      const double term = double{matrix.values[k]} * double{x[matrix.columns[k]]};
      sum += term;
      magnitude += std::abs(term);
    }
    product.sums[row] = sum;
    product.magnitudes[row] = magnitude;
    product.lengths[row] = matrix.row_length(row);
  }
  return product;
}

ProductVerdict check_product(const ProductReference& expected, std::span<const float> y) {
  ProductVerdict verdict{.correct = y.size() == expected.sums.size(), .relative_error = 0};
  for (std::size_t row = 0; verdict.correct && row < y.size(); ++row) {
    const double error = std::abs(double{y[row]} - expected.sums[row]);
    const double magnitude = expected.magnitudes[row];
    // NaN is not within.
    verdict.correct = error <= (expected.lengths[row] + 4.0) * 0x1p-24 * magnitude;
    if (magnitude > 0) verdict.relative_error = std::max(verdict.relative_error, error / magnitude);
  }
  return verdict;
}

}  // namespace upsweep::bench
