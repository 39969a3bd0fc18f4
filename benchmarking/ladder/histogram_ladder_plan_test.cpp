// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "benchmarking/ladder/histogram_ladder.h"

namespace upsweep::bench {
namespace {

using ::testing::HasSubstr;

TEST(HistogramLadderPlan, EveryStepClearsAndCounts) {
  for (const HistogramStep step : histogram_steps) {
    const auto plan = plan_histogram_step(step, 256, 100'000, DeviceTraits::webgpu_minimum());
    ASSERT_TRUE(plan.has_value()) << plan.error().message;
    EXPECT_EQ(plan->dispatches.size(), 2u);
    EXPECT_EQ(plan->least_bytes, 400'000u + 1024u);
    EXPECT_LE(plan->dispatches[1].kernel->workgroup_bytes, 16384u);
  }
}

TEST(HistogramLadderPlan, KernelTextsDoNotDependOnTheItemCount) {
  for (const HistogramStep step : histogram_steps) {
    const auto small = plan_histogram_step(step, 256, 1000, DeviceTraits::webgpu_minimum());
    const auto large = plan_histogram_step(step, 256, 20'000'000, DeviceTraits::webgpu_minimum());
    ASSERT_TRUE(small.has_value() && large.has_value());
    EXPECT_EQ(small->dispatches[1].kernel->text, large->dispatches[1].kernel->text);
  }
}

TEST(HistogramLadderPlan, RefusesWhatAStepCannotDo) {
  const DeviceTraits least = DeviceTraits::webgpu_minimum();
  const auto refusal = [&](HistogramStep step, std::uint32_t bins, std::uint64_t items, ErrorKind kind) {
    const auto plan = plan_histogram_step(step, bins, items, least);
    EXPECT_FALSE(plan.has_value());
    if (plan) return std::string();
    EXPECT_EQ(plan.error().kind, kind);
    return plan.error().message;
  };
  EXPECT_THAT(refusal(HistogramStep::atomic, 100, 10, ErrorKind::invalid_request), HasSubstr("not 100"));
  EXPECT_THAT(refusal(HistogramStep::atomic, 256, 0, ErrorKind::unsupported), HasSubstr("not 0"));
  EXPECT_THAT(refusal(HistogramStep::workgroup, 8192, 10, ErrorKind::unsupported), HasSubstr("8192 bins"));
  EXPECT_THAT(refusal(HistogramStep::threads, 32768, 10, ErrorKind::unsupported), HasSubstr("32768 bins"));
}

TEST(HistogramSamples, AreAsTheyAreCalled) {
  constexpr std::uint32_t count = 100'000;
  std::uint32_t low = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    EXPECT_EQ(sample_units(Samples::constant, i, count), 0x500000u);
    if (i > 0) {
      EXPECT_GE(sample_units(Samples::sorted, i, count), sample_units(Samples::sorted, i - 1, count));
    }
    EXPECT_LT(sample_units(Samples::uniform, i, count), 1u << 24);
    if (sample_units(Samples::skewed, i, count) < (1u << 16)) ++low;
  }
  EXPECT_EQ(sample_units(Samples::sorted, 0, count), 0u);
  EXPECT_GE(sample_units(Samples::sorted, count - 1, count), 1u << 23);
  EXPECT_LT(sample_units(Samples::sorted, (1u << 28) - 1, 1u << 28), 1u << 24);
  EXPECT_GT(low, count / 2);
}

}  // namespace
}  // namespace upsweep::bench
