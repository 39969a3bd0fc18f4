// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/expected.h"

#include <gtest/gtest.h>

#include <bit>
#include <map>

namespace upsweep::bench {
namespace {

constexpr std::uint32_t items = 5000;

std::vector<std::uint32_t> words_of(WordSource source, std::size_t count) {
  std::vector<std::uint32_t> words(count);
  source(words);
  return words;
}

TEST(BenchExpected, SumsFollowTheirDefinition) {
  const auto inclusive = words_of(expected_sums(ScanKind::inclusive, Scalar::u32), items);
  const auto exclusive = words_of(expected_sums(ScanKind::exclusive, Scalar::u32), items);
  const auto floats = words_of(expected_sums(ScanKind::exclusive, Scalar::f32), items);
  const auto halves = words_of(expected_sums(ScanKind::exclusive, Scalar::u64), 2 * items);
  EXPECT_EQ(exclusive[0], 0u);
  EXPECT_EQ(floats[0], 0u);
  EXPECT_EQ(halves[0] + halves[1], 0u);
  for (std::uint32_t i = 0; i + 1 < items; ++i) {
    ASSERT_EQ(inclusive[i] - exclusive[i], input_hash(i));
    ASSERT_EQ(exclusive[i + 1], inclusive[i]);
    const std::uint64_t before = halves[2 * i] | std::uint64_t{halves[2 * i + 1]} << 32;
    const std::uint64_t after = halves[2 * i + 2] | std::uint64_t{halves[2 * i + 3]} << 32;
    ASSERT_EQ(after - before, input_u64(i));
    ASSERT_NEAR(std::bit_cast<float>(floats[i + 1]) - std::bit_cast<float>(floats[i]), input_float(i), 1e-3);
  }
}

class BenchExpectedRuns : public testing::TestWithParam<std::uint32_t> {};

TEST_P(BenchExpectedRuns, PartitionTheItems) {
  const Runs runs{.item_count = items, .mean = GetParam()};
  const std::uint64_t run_count = count_runs(runs);
  const auto keys = words_of(expected_run_keys(runs), run_count);
  const auto lengths = words_of(expected_run_lengths(runs), run_count);
  const auto sums = words_of(expected_run_sums(runs, Scalar::u32), run_count);
  const auto float_sums = words_of(expected_run_sums(runs, Scalar::f32), run_count);
  const auto by_key = words_of(expected_sums_by_key(ScanKind::inclusive), items);
  std::uint32_t first = 0;
  for (std::size_t r = 0; r < run_count; ++r) {
    ASSERT_TRUE(begins_run(first, runs.mean));
    ASSERT_EQ(keys[r], input_hash(first));
    ASSERT_TRUE(r == 0 || keys[r] != keys[r - 1]);
    const std::uint32_t end = first + lengths[r];
    for (std::uint32_t i = first + 1; i < end; ++i) ASSERT_FALSE(begins_run(i, runs.mean));
    if (runs.mean == usual_run_items) {
      ASSERT_EQ(by_key[first], input_hash(first));
      ASSERT_EQ(by_key[end - 1], sums[r]);
    }
    double exact = 0;
    for (std::uint32_t i = first; i < end; ++i) exact += input_float(i);
    ASSERT_FLOAT_EQ(std::bit_cast<float>(float_sums[r]), static_cast<float>(exact));
    first = end;
  }
  EXPECT_EQ(first, items);
}

INSTANTIATE_TEST_SUITE_P(Means, BenchExpectedRuns, testing::Values(1, 2, usual_run_items, 100));

TEST(BenchExpected, RunsHaveFourItemsOnAverageAndSomeAreLong) {
  constexpr std::uint64_t many = 1 << 20;
  const std::uint64_t run_count = count_runs({.item_count = many});
  EXPECT_NEAR(static_cast<double>(many) / static_cast<double>(run_count), 4.0, 0.05);
  std::map<bool, int> longer;
  for (const std::uint32_t length : words_of(expected_run_lengths({.item_count = many}), run_count))
    ++longer[length >= 17];
  EXPECT_NEAR(static_cast<double>(longer[true]) / static_cast<double>(run_count), 0.01, 0.002);
}

TEST(BenchExpected, HalfOfTheItemsAreSelectedInTheirOrder) {
  const std::uint64_t count = count_selected(items);
  EXPECT_NEAR(static_cast<double>(count), items / 2.0, items / 20.0);
  const auto selected = words_of(expected_selected(), count);
  std::size_t next = 0;
  for (std::uint32_t i = 0; i < items; ++i) {
    if (input_hash(i) >= 0x80000000u) continue;
    ASSERT_EQ(selected[next++], input_hash(i));
  }
  EXPECT_EQ(next, count);
}

TEST(BenchExpected, OneWrongWordIsSeenAnywhere) {
  const WordSource source = expected_sums(ScanKind::exclusive, Scalar::u32);
  std::vector<std::uint32_t> words = words_of(source, items);
  EXPECT_TRUE(check_words(words, source, false).correct);
  for (const std::uint32_t wrong : {0u, items / 2, items - 1}) {
    words[wrong] ^= 1;
    EXPECT_FALSE(check_words(words, source, false).correct);
    words[wrong] ^= 1;
  }
}

TEST(BenchExpected, FloatsMayDifferInTheirLastBitsOnly) {
  const WordSource source = expected_sums(ScanKind::exclusive, Scalar::f32);
  std::vector<std::uint32_t> words = words_of(source, items);
  words[items - 1] += 2;
  const Verdict close = check_words(words, source, true);
  EXPECT_TRUE(close.correct);
  EXPECT_GT(close.relative_error, 0);
  for (const float wrong : {2.0f, std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<std::uint32_t> others = words;
    others[items / 2] = std::bit_cast<std::uint32_t>(std::bit_cast<float>(others[items / 2]) + wrong);
    EXPECT_FALSE(check_words(others, source, true).correct);
  }
}

}  // namespace
}  // namespace upsweep::bench
