// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "benchmarking/ladder/reduce_ladder.h"

namespace upsweep::bench {
namespace {

DeviceTraits with_subgroups() {
  DeviceTraits traits = DeviceTraits::webgpu_minimum();
  traits.subgroups = true;
  traits.subgroup_id_builtin = true;
  return traits;
}

TEST(ReduceLadderPlan, OneTileNeedsOnePassAndNoScratch) {
  for (const ReduceStep step : {ReduceStep::tree_interleaved, ReduceStep::tree_sequential}) {
    const auto plan = plan_reduce_step(step, ElementType::u32(), 256, with_subgroups());
    ASSERT_TRUE(plan.has_value()) << plan.error().message;
    EXPECT_EQ(plan->dispatches.size(), 1u);
    EXPECT_EQ(plan->scratch_bytes, 0u);
    EXPECT_EQ(plan_reduce_step(step, ElementType::u32(), 257, with_subgroups())->dispatches.size(), 2u);
  }
}

TEST(ReduceLadderPlan, VectorTilesHoldFourTimesTheItems) {
  for (const ReduceStep step : {ReduceStep::vectors, ReduceStep::subgroups}) {
    EXPECT_EQ(plan_reduce_step(step, ElementType::f32(), 1024, with_subgroups())->dispatches.size(), 1u);
    EXPECT_EQ(plan_reduce_step(step, ElementType::f32(), 1025, with_subgroups())->dispatches.size(), 2u);
  }
}

TEST(ReduceLadderPlan, OneItemIsStillWrittenToTheOutput) {
  for (const ReduceStep step : reduce_steps) {
    const auto plan = plan_reduce_step(step, ElementType::u32(), 1, with_subgroups());
    ASSERT_TRUE(plan.has_value()) << plan.error().message;
    EXPECT_FALSE(plan->dispatches.empty());
    EXPECT_TRUE(plan->find_argument("output")->is_written);
  }
}

TEST(ReduceLadderPlan, KernelTextsDoNotDependOnTheItemCount) {
  for (const ReduceStep step : reduce_steps) {
    const auto small = plan_reduce_step(step, ElementType::u32(), 1000, with_subgroups());
    const auto large = plan_reduce_step(step, ElementType::u32(), 20'000'000, with_subgroups());
    ASSERT_TRUE(small.has_value() && large.has_value());
    EXPECT_EQ(small->dispatches[0].kernel->text, large->dispatches[0].kernel->text);
  }
}

TEST(ReduceLadderPlan, ManyWorkgroupsFoldIntoTwoDimensions) {
  const auto plan = plan_reduce_step(ReduceStep::atomic, ElementType::u32(), 1u << 25, with_subgroups());
  ASSERT_TRUE(plan.has_value());
  EXPECT_GT(plan->dispatches[1].grid.y, 1u);
}

TEST(ReduceLadderPlan, RefusesWhatAStepCannotDo) {
  const DeviceTraits minimum = DeviceTraits::webgpu_minimum();
  const auto kind = [&](ReduceStep step, const ElementType& type, std::uint64_t items, const DeviceTraits& traits) {
    const auto plan = plan_reduce_step(step, type, items, traits);
    EXPECT_FALSE(plan.has_value());
    return plan ? ErrorKind::internal : plan.error().kind;
  };
  EXPECT_EQ(kind(ReduceStep::subgroups, ElementType::u32(), 100, minimum), ErrorKind::unsupported);
  EXPECT_EQ(kind(ReduceStep::atomic, ElementType::f32(), 100, minimum), ErrorKind::unsupported);
  EXPECT_EQ(kind(ReduceStep::vectors, ElementType::u32(), 0, minimum), ErrorKind::unsupported);
  EXPECT_EQ(kind(ReduceStep::vectors, ElementType::u32(), (1ull << 25) + 1, minimum), ErrorKind::unsupported);
  EXPECT_EQ(kind(ReduceStep::vectors, ElementType::u64(), 100, minimum), ErrorKind::invalid_request);
}

}  // namespace
}  // namespace upsweep::bench
