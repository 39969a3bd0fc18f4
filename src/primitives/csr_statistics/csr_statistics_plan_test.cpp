// SPDX-License-Identifier: Apache-2.0
// Plans of the analysis without a device, and the formats that figures speak for.
#include <format>
#include <numeric>

#include "testing/sparse_patterns.h"
#include "testing/tile_plans.h"
#include "upsweep/sparse_convert.h"

namespace upsweep::testing {
namespace {

using ::testing::HasSubstr;

CsrStatisticsShape shape_of(std::uint32_t rows, std::uint32_t entries) {
  return {.csr = {.row_count = rows, .column_count = std::max(rows, 1u), .entry_count = entries}};
}

Plan made(Result<Plan> plan) {
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  return plan ? std::move(*plan) : Plan{};
}

std::string refusal(const CsrStatisticsShape& shape) {
  const auto plan = plan_csr_statistics(shape, least_traits());
  if (plan) return "no error";
  EXPECT_EQ(plan.error().kind, ErrorKind::invalid_request) << plan.error().message;
  return plan.error().message;
}

TEST(CsrStatisticsPlan, PlansStayInsideLimits) {
  for (const DeviceTraits& traits : {least_traits(), gpu_traits(), emulated_traits(), with_limits(300, 0)}) {
    for (const std::uint32_t rows : {0u, 1u, 5000u, 3'000'000u}) {
      CsrStatisticsShape shape = shape_of(rows, 2 * rows);
      shape.block_sizes = 1u << 3 | 1u << 16;
      shape.window_rows = 256;
      expect_limits(made(plan_csr_statistics(shape, traits)), traits);
    }
  }
}

TEST(CsrStatisticsPlan, ColumnsAreReadForBlocksAlone) {
  EXPECT_EQ(made(plan_csr_statistics(shape_of(100, 500), least_traits())).find_argument("columns"), nullptr);
  CsrStatisticsShape shape = shape_of(100, 500);
  shape.block_sizes = 1u << 4;
  EXPECT_NE(made(plan_csr_statistics(shape, least_traits())).find_argument("columns"), nullptr);
}

TEST(CsrStatisticsPlan, RefusesWhatItCannotDo) {
  CsrStatisticsShape shape = shape_of(100, 500);
  shape.slice_rows = 0;
  EXPECT_THAT(refusal(shape), HasSubstr("slices of 0 rows: 1 to 65536"));
  shape.slice_rows = 32;
  shape.window_rows = 100;
  EXPECT_THAT(refusal(shape), HasSubstr("windows of 100 rows, which is no multiple of the 32"));
  shape.window_rows = 0;
  shape.block_sizes = 1u << 5;
  EXPECT_THAT(refusal(shape), HasSubstr("0x20"));
  shape = shape_of(0, 5);
  EXPECT_THAT(refusal(shape), HasSubstr("no place for entries"));
}

// What the device would write.
CsrStatistics statistics_of(const std::vector<std::uint32_t>& lengths, std::uint32_t slice_rows = 32) {
  CsrStatistics statistics{.slice_rows = slice_rows};
  for (std::size_t row = 0; row < lengths.size(); ++row) {
    const std::uint32_t length = lengths[row];
    const std::size_t bin = length == 0 ? 0 : static_cast<std::size_t>(std::bit_width(length - 1)) + 1;
    ++statistics.rows_by_length[bin];
    statistics.entries_by_length[bin] += length;
    statistics.longest_row = std::max(statistics.longest_row, length);
    if (row % slice_rows != 0) continue;
    const auto end = std::min<std::size_t>(lengths.size(), row + slice_rows);
    statistics.slice_slots += *std::max_element(lengths.begin() + static_cast<std::ptrdiff_t>(row),
                                                lengths.begin() + static_cast<std::ptrdiff_t>(end));
  }
  return statistics;
}

SparseShape csr_of(const std::vector<std::uint32_t>& lengths, SparseValues values = SparseValues::f32) {
  return {.values = values,
          .row_count = static_cast<std::uint32_t>(lengths.size()),
          .column_count = 1000,
          .entry_count = std::accumulate(lengths.begin(), lengths.end(), 0u)};
}

FormatSuggestion suggested(const std::vector<std::uint32_t>& lengths, const CsrStatistics& statistics,
                           SparseValues values = SparseValues::f32, const DeviceTraits& traits = gpu_traits()) {
  const SparseShape csr = csr_of(lengths, values);
  FormatSuggestion suggestion = suggest_format(csr, statistics, traits);
  EXPECT_EQ(suggestion.bytes, stored_bytes(suggestion.shape));
  EXPECT_LE(static_cast<double>(suggestion.bytes), 1.15 * static_cast<double>(stored_bytes(csr)));
  EXPECT_FALSE(suggestion.reason.empty());
  // The conversion takes what is suggested.
  if (suggestion.shape.format != SparseFormat::csr) {
    made(plan_csr_conversion({.csr = csr, .result = suggestion.shape, .most_growth = 2}, traits));
  }
  return suggestion;
}

TEST(FormatSuggestion, WithoutEntriesThereIsNothingToChoose) {
  const std::vector<std::uint32_t> lengths(9, 0);
  const auto statistics = statistics_of(lengths);
  EXPECT_EQ(suggested(lengths, statistics).shape.format, SparseFormat::csr);
  EXPECT_EQ(suggested(lengths, statistics).reason, "there are no entries");
  const auto blocks = shape_in_format(csr_of(lengths), statistics, SparseFormat::block_ell);
  ASSERT_TRUE(blocks.has_value());
  EXPECT_EQ(blocks->shape.format, SparseFormat::csr);
  EXPECT_EQ(blocks->reason, "without entries there is nothing to store as block_ell");
  const auto coo = shape_in_format(csr_of(lengths), statistics, SparseFormat::coo);
  ASSERT_TRUE(coo.has_value());
  EXPECT_EQ(coo->shape.format, SparseFormat::coo);
}

TEST(FormatSuggestion, AHybridWithoutARestIsEllAndSaysSo) {
  const std::vector<std::uint32_t> lengths{1, 0, 1};
  const auto hybrid = shape_in_format(csr_of(lengths), statistics_of(lengths), SparseFormat::hybrid);
  ASSERT_TRUE(hybrid.has_value());
  EXPECT_EQ(hybrid->shape.format, SparseFormat::ell);
  EXPECT_THAT(hybrid->reason, HasSubstr("no row has a second entry for the rest of a hybrid"));
}

TEST(FormatSuggestion, EqualRowsSpeakForEll) {
  const std::vector<std::uint32_t> lengths(50'000, 7);
  const auto ell = suggested(lengths, statistics_of(lengths));
  EXPECT_EQ(ell.shape.format, SparseFormat::ell);
  EXPECT_EQ(ell.shape.width, 7u);
  EXPECT_THAT(ell.reason, HasSubstr("longest row has 7"));
}

TEST(FormatSuggestion, LengthsThatChangeSlowlySpeakForSlices) {
  std::vector<std::uint32_t> lengths;
  for (std::uint32_t row = 0; row < 64'000; ++row) lengths.push_back(1 + row / 2000);
  const auto sliced = suggested(lengths, statistics_of(lengths));
  EXPECT_EQ(sliced.shape.format, SparseFormat::sliced_ell);
  EXPECT_FALSE(sliced.shape.is_reordered);
  // The same rows mixed: only their order helps.
  for (std::size_t row = 0; row < lengths.size(); ++row) lengths[row] = 1 + static_cast<std::uint32_t>(row % 32);
  CsrStatistics statistics = statistics_of(lengths);
  EXPECT_EQ(suggested(lengths, statistics).shape.format, SparseFormat::csr);
  statistics.window_rows = 4096;
  statistics.reordered_slice_slots = csr_of(lengths).entry_count / 32 + 50;
  const auto reordered = suggested(lengths, statistics);
  EXPECT_EQ(reordered.shape.format, SparseFormat::sliced_ell);
  EXPECT_TRUE(reordered.shape.is_reordered);
}

TEST(FormatSuggestion, AFewLongRowsSpeakForAHybrid) {
  std::vector<std::uint32_t> lengths(100'000, 8);
  for (std::size_t row = 0; row < lengths.size(); row += 5000) lengths[row] = 2000;
  const auto hybrid = suggested(lengths, statistics_of(lengths));
  EXPECT_EQ(hybrid.shape.format, SparseFormat::hybrid);
  EXPECT_EQ(hybrid.shape.width, 8u);
  EXPECT_EQ(hybrid.shape.rest_row_count, 20u);
  EXPECT_EQ(hybrid.shape.rest_entry_count, 20u * 1992);
}

TEST(FormatSuggestion, FullBlocksSpeakForBlocks) {
  const std::vector<std::uint32_t> lengths(3000, 12);
  CsrStatistics statistics = statistics_of(lengths);
  statistics.block_sizes = 1u << 2 | 1u << 3 | 1u << 4;
  statistics.block_widths = {7, 4, 5};
  statistics.block_counts = {1500 * 7, 1000 * 4, 750 * 5};
  const auto blocks = suggested(lengths, statistics);
  EXPECT_EQ(blocks.shape.format, SparseFormat::block_ell);
  EXPECT_EQ(blocks.shape.block_size, 3u);
  EXPECT_EQ(blocks.shape.width, 4u);
  EXPECT_EQ(suggested(lengths, statistics, SparseValues::f16).shape.format, SparseFormat::block_ell);
  // Values of a pattern would have to be stored.
  EXPECT_EQ(suggested(lengths, statistics, SparseValues::ones).shape.format, SparseFormat::ell);
  statistics.descent_count = 1;
  EXPECT_EQ(suggested(lengths, statistics).shape.format, SparseFormat::ell);
}

TEST(FormatSuggestion, OneThreadNeverWalksOverALongRow) {
  const std::vector<std::uint32_t> lengths(100, 5000);
  const auto csr = suggested(lengths, statistics_of(lengths));
  EXPECT_EQ(csr.shape.format, SparseFormat::csr);
  EXPECT_EQ(csr.shape.longest_row, 5000u);
  EXPECT_THAT(csr.reason, HasSubstr("no more than 64 slots"));
}

TEST(FormatSuggestion, WhatDoesNotFitIntoABindingIsNotSuggested) {
  const std::vector<std::uint32_t> lengths(50'000, 7);
  EXPECT_EQ(suggested(lengths, statistics_of(lengths), SparseValues::f32, with_limits(0, 50'000 * 28 + 4)).shape.format,
            SparseFormat::ell);
  CsrStatistics statistics = statistics_of(lengths);
  const SparseShape csr = csr_of(lengths);
  EXPECT_EQ(suggest_format(csr, statistics, with_limits(0, 50'000 * 28 - 4)).shape.format, SparseFormat::csr);
}

TEST(FormatSuggestion, MatricesWithoutEntriesStayAsTheyAre) {
  EXPECT_EQ(suggested({}, statistics_of({})).shape.format, SparseFormat::csr);
  EXPECT_EQ(suggested({0, 0}, statistics_of({0, 0})).shape.format, SparseFormat::csr);
}

TEST(CsrStatisticsPlan, GoldenPlansAreUnchanged) {
  std::string text;
  const auto add = [&](std::string_view title, const Result<Plan>& plan) {
    text += std::format("== {}\n{}\n", title, outline_of(made(plan)));
  };
  CsrStatisticsShape shape = shape_of(1 << 20, 1 << 24);
  add("lengths and slices, least limits", plan_csr_statistics(shape, least_traits()));
  shape.window_rows = 1024;
  shape.block_sizes = 1u << 2 | 1u << 4;
  add("windows and blocks, test GPU", plan_csr_statistics(shape, gpu_traits()));
  add("no rows", plan_csr_statistics(shape_of(0, 0), least_traits()));
  expect_golden("csr_statistics", text);
}

}  // namespace
}  // namespace upsweep::testing
