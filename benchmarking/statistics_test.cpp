// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/statistics.h"

#include <gmock/gmock.h>

#include <array>

namespace upsweep::bench {
namespace {

using ::testing::ElementsAre;

TEST(Spread, OfAnOddCountTakesTheMiddleValue) {
  const Spread spread = spread_of({5, 1, 3});
  EXPECT_EQ(spread.median, 3);
  EXPECT_EQ(spread.min, 1);
  EXPECT_EQ(spread.max, 5);
  EXPECT_EQ(spread.count, 3u);
}

TEST(Spread, OfAnEvenCountTakesTheMeanOfTheMiddleTwo) { EXPECT_EQ(spread_of({4, 1, 3, 100}).median, 3.5); }

TEST(Spread, OfNothingIsZeroAndHasNoSamples) {
  EXPECT_EQ(spread_of({}).median, 0);
  EXPECT_EQ(spread_of({}).count, 0u);
}

TEST(Timestamps, ShowTheQuantumOfDawn) {
  // Multiples of 65536 with an offset: only differences count.
  EXPECT_EQ(timestamp_quantum(std::array<std::uint64_t, 4>{7, 7 + 65536, 7 + 3 * 65536, 7}), 65536u);
}

TEST(Timestamps, ShowTheTickOfADevice) {
  EXPECT_EQ(timestamp_quantum(std::array<std::uint64_t, 3>{1000, 1032, 1096}), 32u);
  EXPECT_EQ(timestamp_quantum(std::array<std::uint64_t, 3>{1000, 1032, 1001}), 1u);
}

TEST(Timestamps, ThatDoNotDifferShowNoQuantum) {
  EXPECT_EQ(timestamp_quantum(std::array<std::uint64_t, 3>{9, 9, 9}), 0u);
  EXPECT_EQ(timestamp_quantum({}), 0u);
  EXPECT_EQ(common_quantum(0, 65536), 65536u);
}

TEST(Timestamps, ThatRunBackwardsAreLeftOut) {
  const std::array<std::uint64_t, 7> stamps{1'000'000, 3'000'000, 5, 4, 6, 6, 99};
  EXPECT_THAT(pair_milliseconds(stamps), ElementsAre(2.0, 0.0));
}

TEST(Repeats, StayWhenTheTotalIsLongEnough) { EXPECT_EQ(next_repeats(3, 5.0, 5.0, 1000), 3u); }

TEST(Repeats, GrowToPassTheTarget) {
  const std::uint32_t repeats = next_repeats(10, 1.0, 5.0, 1000);
  EXPECT_GE(repeats * 0.1, 5.0);
  EXPECT_LE(repeats, 56u);
}

TEST(Repeats, GrowBySixteenAtMostAndAfterAReadingOfZero) {
  EXPECT_EQ(next_repeats(2, 0.0, 5.0, 1000), 32u);
  EXPECT_EQ(next_repeats(2, 1e-9, 5.0, 1000), 32u);
}

TEST(Repeats, AlwaysGrowAndNeverPassTheLimit) {
  EXPECT_EQ(next_repeats(1, 4.999999, 5.0, 1000), 2u);
  EXPECT_EQ(next_repeats(500, 0.0, 5.0, 1000), 1000u);
  EXPECT_EQ(next_repeats(1000, 0.0, 5.0, 1000), 1000u);
}

TEST(Rate, OfNoTimeIsZero) {
  EXPECT_EQ(gb_per_s(1'000'000'000, 1000), 1.0);
  EXPECT_EQ(gb_per_s(1000, 0), 0);
}

}  // namespace
}  // namespace upsweep::bench
