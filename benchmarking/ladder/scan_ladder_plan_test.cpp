// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "benchmarking/ladder/scan_ladder.h"

namespace upsweep::bench {
namespace {

DeviceTraits with_subgroups() {
  DeviceTraits traits = DeviceTraits::webgpu_minimum();
  traits.subgroups = true;
  traits.subgroup_id_builtin = true;
  return traits;
}

Plan plan_of(ScanStep step, std::uint64_t item_count, const DeviceTraits& traits = with_subgroups()) {
  auto plan = plan_scan_step(step, ElementType::u32(), item_count, traits);
  EXPECT_TRUE(plan.has_value()) << (plan ? "" : plan.error().message);
  return plan ? *std::move(plan) : Plan{};
}

TEST(ScanLadderPlan, OneTileNeedsOnePass) {
  for (const auto& [step, tile] : {std::pair{ScanStep::blelloch, 512u},
                                   {ScanStep::blelloch_padded, 512u},
                                   {ScanStep::kogge_stone, 256u},
                                   {ScanStep::subgroups, 256u},
                                   {ScanStep::subgroup_vectors, 1024u},
                                   {ScanStep::three_phase, 1024u}}) {
    EXPECT_EQ(plan_of(step, 1).dispatches.size(), 1u);
    EXPECT_EQ(plan_of(step, tile).dispatches.size(), 1u) << step_name(step);
    EXPECT_EQ(plan_of(step, tile + 1).dispatches.size(), 3u) << step_name(step);
    EXPECT_EQ(plan_of(step, std::uint64_t{tile} * tile).dispatches.size(), 3u) << step_name(step);
    EXPECT_EQ(plan_of(step, std::uint64_t{tile} * tile + 1).dispatches.size(), 5u) << step_name(step);
  }
}

// Why the steps differ: what is read and written an item.
TEST(ScanLadderPlan, ReducingFirstSavesAQuarterOfTheTraffic) {
  constexpr std::uint64_t items = 1u << 24;
  const auto bytes_an_item = [&](ScanStep step) {
    return static_cast<double>(plan_of(step, items).bytes_moved()) / static_cast<double>(items);
  };
  // Each item is read and written by the scan of its tile, and again by the addition; and the totals.
  EXPECT_NEAR(bytes_an_item(ScanStep::kogge_stone), 16, 0.15);
  EXPECT_NEAR(bytes_an_item(ScanStep::blelloch), 16, 0.15);
  EXPECT_NEAR(bytes_an_item(ScanStep::subgroup_vectors), 16, 0.15);
  // Read twice, written once.
  EXPECT_NEAR(bytes_an_item(ScanStep::three_phase), 12, 0.15);
}

TEST(ScanLadderPlan, KernelTextsDoNotDependOnTheItemCount) {
  for (const ScanStep step : scan_steps) {
    const Plan small = plan_of(step, 20'000);
    const Plan large = plan_of(step, 20'000'000);
    EXPECT_EQ(small.dispatches.front().kernel->text, large.dispatches.front().kernel->text);
    EXPECT_EQ(small.dispatches.back().kernel->text, large.dispatches.back().kernel->text);
  }
}

TEST(ScanLadderPlan, ManyWorkgroupsFoldIntoTwoDimensions) {
  EXPECT_GT(plan_of(ScanStep::kogge_stone, 1u << 25).dispatches[0].grid.y, 1u);
}

TEST(ScanLadderPlan, WithoutSubgroupsTheThreePhasesUseWorkgroupMemory) {
  const Plan plan = plan_of(ScanStep::three_phase, 5000, DeviceTraits::webgpu_minimum());
  for (const Dispatch& dispatch : plan.dispatches) EXPECT_FALSE(dispatch.kernel->needs_subgroups);
  EXPECT_TRUE(plan_of(ScanStep::three_phase, 5000).dispatches[0].kernel->needs_subgroups);
}

TEST(ScanLadderPlan, RefusesWhatAStepCannotDo) {
  const DeviceTraits minimum = DeviceTraits::webgpu_minimum();
  const auto kind = [&](ScanStep step, const ElementType& type, std::uint64_t items) {
    const auto plan = plan_scan_step(step, type, items, minimum);
    EXPECT_FALSE(plan.has_value());
    return plan ? ErrorKind::internal : plan.error().kind;
  };
  EXPECT_EQ(kind(ScanStep::subgroups, ElementType::u32(), 100), ErrorKind::unsupported);
  EXPECT_EQ(kind(ScanStep::subgroup_vectors, ElementType::u32(), 100), ErrorKind::unsupported);
  EXPECT_EQ(kind(ScanStep::blelloch, ElementType::u32(), 0), ErrorKind::unsupported);
  EXPECT_EQ(kind(ScanStep::blelloch, ElementType::u32(), (1ull << 25) + 1), ErrorKind::unsupported);
  EXPECT_EQ(kind(ScanStep::blelloch, ElementType::u64(), 100), ErrorKind::invalid_request);
}

}  // namespace
}  // namespace upsweep::bench
