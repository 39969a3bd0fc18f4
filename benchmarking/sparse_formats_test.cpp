// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/sparse_formats.h"

#include <gmock/gmock.h>

namespace upsweep::bench {
namespace {

using ::testing::HasSubstr;

using Dense = std::vector<float>;

Dense dense_of(const CsrMatrix& matrix) {
  Dense dense(std::size_t{matrix.row_count} * matrix.column_count);
  for (std::size_t row = 0; row < matrix.row_count; ++row) {
    for (std::uint32_t k = matrix.row_offsets[row]; k < matrix.row_offsets[row + 1]; ++k) {
      dense[row * matrix.column_count + matrix.columns[k]] += matrix.values[k];
    }
  }
  return dense;
}

// As sparse.h defines the formats.
Dense dense_of(const StoredMatrix& m) {
  const SparseShape& shape = m.shape;
  Dense dense(std::size_t{shape.row_count} * shape.column_count);
  const auto add = [&](std::size_t row, std::uint32_t column, float value) {
    if (column != no_column) dense.at(row * shape.column_count + column) += value;
  };
  const auto add_slots = [&] {
    for (std::size_t at = 0; at < m.columns.size(); ++at) add(at % shape.stride(), m.columns[at], m.values[at]);
  };
  switch (shape.format) {
    case SparseFormat::csr:
      for (std::size_t row = 0; row < shape.row_count; ++row) {
        for (std::uint32_t k = m.row_offsets[row]; k < m.row_offsets[row + 1]; ++k) add(row, m.columns[k], m.values[k]);
      }
      break;
    case SparseFormat::coo:
      for (std::size_t k = 0; k < m.columns.size(); ++k) add(m.rows[k], m.columns[k], m.values[k]);
      break;
    case SparseFormat::ell: add_slots(); break;
    case SparseFormat::sliced_ell:
      for (std::size_t slice = 0; slice < shape.group_count(); ++slice) {
        for (std::uint32_t at = m.slice_offsets[slice]; at < m.slice_offsets[slice + 1]; ++at) {
          const std::size_t place = slice * shape.slice_rows + (at - m.slice_offsets[slice]) % shape.slice_rows;
          if (m.columns[at] == no_column) continue;
          add(shape.is_reordered ? m.row_order.at(place) : place, m.columns[at], m.values[at]);
        }
      }
      break;
    case SparseFormat::block_ell:
      for (std::size_t slot = 0; slot < shape.width; ++slot) {
        for (std::size_t block_row = 0; block_row < shape.group_count(); ++block_row) {
          const std::uint32_t block = m.columns[slot * shape.stride() + block_row];
          if (block == no_column) continue;
          for (std::uint32_t j = 0; j < shape.block_size; ++j) {
            for (std::uint32_t i = 0; i < shape.block_size; ++i) {
              const std::size_t row = block_row * shape.block_size + i;
              const std::uint32_t column = block * shape.block_size + j;
              const float value =
                  m.values[((slot * shape.block_size + j) * shape.stride() + block_row) * shape.block_size + i];
              if (row < shape.row_count && column < shape.column_count) add(row, column, value);
            }
          }
        }
      }
      break;
    case SparseFormat::hybrid:
      add_slots();
      for (std::size_t i = 0; i < m.rest_rows.size(); ++i) {
        for (std::uint32_t k = m.rest_offsets[i]; k < m.rest_offsets[i + 1]; ++k) {
          add(m.rest_rows[i], m.rest_columns[k], m.rest_values[k]);
        }
      }
      break;
  }
  return dense;
}

constexpr std::array format_list{"csr",   "coo",   "ell",   "sell",  "sell_sorted", "bell",
                                 "bell2", "bell3", "bell4", "bell8", "bell16",      "hybrid"};

TEST(SparseFormats, HoldTheMatrix) {
  for (const MatrixKind kind : matrix_kinds) {
    for (const std::uint32_t rows : {1u, 31u, 64u, 130u}) {
      const CsrMatrix matrix = make_matrix(kind, rows);
      for (const std::string name : format_list) {
        SCOPED_TRACE(std::string(to_string(kind)) + " " + name);
        const auto choice = parse_format(name, to_string(kind));
        ASSERT_TRUE(choice.has_value());
        const StoredMatrix stored = store_matrix(matrix, *choice);
        EXPECT_EQ(stored.columns.size(), stored.shape.column_items());
        EXPECT_EQ(stored.values.size(), stored.shape.value_items());
        EXPECT_EQ(dense_of(stored), dense_of(matrix));
      }
    }
  }
}

TEST(SparseFormats, SortedSlicesHaveFewerPlaces) {
  const CsrMatrix matrix = make_matrix(MatrixKind::power_law, 5'000);
  const StoredMatrix plain = store_matrix(matrix, *parse_format("sell", "power_law"));
  const StoredMatrix sorted = store_matrix(matrix, *parse_format("sell_sorted", "power_law"));
  EXPECT_LT(sorted.columns.size(), plain.columns.size());
}

TEST(SparseFormats, HybridsKeepLongRowsApart) {
  const CsrMatrix matrix = make_matrix(MatrixKind::power_law, 5'000);
  const StoredMatrix stored = store_matrix(matrix, *parse_format("hybrid", "power_law"));
  EXPECT_LT(stored.shape.width, 8u);
  EXPECT_LT(stored.rest_rows.size(), 2'500u);
  EXPECT_GT(stored.rest_columns.size(), 0u);
}

TEST(SparseFormats, AreRefusedWhereTheyWouldTakeManyTimesTheMemory) {
  const CsrMatrix power_law = make_matrix(MatrixKind::power_law, 5'000);
  const auto refusal = [](const CsrMatrix& matrix, std::string_view format) {
    return refuse_format(matrix, *parse_format(format, "x"));
  };
  EXPECT_THAT(refusal(power_law, "ell"), HasSubstr("x the memory of csr"));
  EXPECT_THAT(refusal(power_law, "bell8"), HasSubstr("x the memory of csr"));
  EXPECT_EQ(refusal(power_law, "hybrid"), "");
  EXPECT_THAT(refusal(power_law, "sell"), HasSubstr("x the memory of csr"));
  EXPECT_EQ(refusal(power_law, "sell_sorted"), "");
  const CsrMatrix grid = make_matrix(MatrixKind::grid5, 1'000);
  EXPECT_EQ(refusal(grid, "ell"), "");
  EXPECT_EQ(refusal(grid, "bell2"), "");
  EXPECT_THAT(refusal(make_matrix(MatrixKind::dense_row, 1'000), "sell"), HasSubstr("x the memory of csr"));
}

TEST(SparseFormats, HaveNames) {
  EXPECT_EQ(parse_format("bell", "blocks3")->block_size, 3u);
  EXPECT_EQ(parse_format("bell", "grid5")->block_size, 2u);
  EXPECT_EQ(parse_format("bell16", "grid5")->block_size, 16u);
  for (const std::string_view wrong : {"", "cs", "bell5", "bell3x", "bellx", "bell02x"}) {
    EXPECT_FALSE(parse_format(wrong, "grid5").has_value()) << wrong;
  }
  for (const std::string_view name : format_list) EXPECT_THAT(std::string(format_names), HasSubstr(std::string(name)));
}

}  // namespace
}  // namespace upsweep::bench
