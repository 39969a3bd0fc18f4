// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/ladder/ladder.h"

#include <array>

#include "benchmarking/input.h"
#include "benchmarking/ladder/cpu_sum.h"
#include "testing/gpu_test.h"

namespace upsweep::testing {
namespace {

using bench::LadderStep;
using bench::plan_ladder;

class LadderGpu : public GpuTest {
 protected:
  [[nodiscard]] std::uint32_t workgroup_size() const {
    return is_tiny() ? 4 : std::min(256u, context().traits().max_workgroup_size);
  }
  [[nodiscard]] std::vector<std::uint32_t> sizes() const {
    const std::uint32_t w = workgroup_size();
    return {1, 2, 3, w - 1, w, w + 1, 4 * w - 1, 4 * w, 4 * w + 1, w * w + 1, 100000};
  }
  [[nodiscard]] bool has_step(LadderStep step) const {
    const DeviceTraits& traits = context().traits();
    return step != LadderStep::subgroups ||
           (traits.subgroups && (traits.subgroup_id_builtin || traits.subgroup_ids_follow_index));
  }

  // The result's bits. Words around input and output are checked; those after the input are poison that must not count.
  std::uint32_t sum(LadderStep step, const ElementType& type, std::span<const std::byte> items,
                    const DeviceTraits& traits) {
    const auto plan = plan_ladder(step, type, items.size() / 4, traits, workgroup_size());
    if (!plan) {
      ADD_FAILURE() << plan.error().message;
      return 0;
    }
    const GuardedBuffer input(context(), items);
    const GuardedBuffer output(context(), bytes_of(std::vector<std::uint32_t>(1, 77)));
    const std::array arguments{Argument{"input", input.view()}, Argument{"output", output.view()}};
    // Twice in one encoder: the second must not start from what the first left.
    run([&](WGPUCommandEncoder encoder) -> Status {
      if (const Status ok = context().record(encoder, *plan, arguments); !ok) return ok;
      return context().record(encoder, *plan, arguments);
    });
    (void)input.read_and_check_guards();
    return items_of<std::uint32_t>(output.read_and_check_guards())[0];
  }
};
// The other profiles plan the ladder as minimum_limits does: without subgroups.
INSTANTIATE_TEST_SUITE_P(, LadderGpu, ::testing::Values(Profile::full, Profile::minimum_limits, Profile::tiny_tiles),
                         profile_name);

TEST_P(LadderGpu, EveryStepSumsIntegersExactly) {
  for (const LadderStep step : bench::ladder_steps) {
    if (!has_step(step)) continue;
    SCOPED_TRACE(bench::ladder_step_name(step));
    for (const std::uint32_t n : sizes()) {
      SCOPED_TRACE(n);
      std::vector<std::uint32_t> items(n);
      std::uint32_t expected = 0;
      for (std::uint32_t i = 0; i < n; ++i) expected += items[i] = bench::input_hash(i);
      EXPECT_EQ(sum(step, ElementType::u32(), bytes_of(items), context().traits()), expected);
    }
  }
}

TEST_P(LadderGpu, EveryStepButTheAtomicSumsFloats) {
  for (const LadderStep step : bench::ladder_steps) {
    if (!has_step(step) || step == LadderStep::atomic) continue;
    SCOPED_TRACE(bench::ladder_step_name(step));
    for (const std::uint32_t n : sizes()) {
      SCOPED_TRACE(n);
      std::vector<float> items(n);
      double expected = 0;
      for (std::uint32_t i = 0; i < n; ++i) expected += items[i] = bench::input_float(i) - 0.25f;
      const std::uint32_t bits = sum(step, ElementType::f32(), bytes_of(items), context().traits());
      EXPECT_NEAR(std::bit_cast<float>(bits), expected, 1e-5 * n);
    }
  }
}

TEST_P(LadderGpu, GridsOfTwoAndThreeDimensionsGiveTheSameSums) {
  const std::uint32_t n = 200 * workgroup_size() + 7;
  std::vector<std::uint32_t> items(n);
  std::uint32_t expected = 0;
  for (std::uint32_t i = 0; i < n; ++i) expected += items[i] = bench::input_hash(i);
  for (const std::uint32_t limit : {50u, 6u}) {
    SCOPED_TRACE(limit);
    DeviceTraits traits = context().traits();
    traits.max_workgroups_per_dimension = limit;
    for (const LadderStep step : bench::ladder_steps) {
      if (!has_step(step)) continue;
      SCOPED_TRACE(bench::ladder_step_name(step));
      EXPECT_EQ(sum(step, ElementType::u32(), bytes_of(items), traits), expected);
    }
  }
}

TEST_P(LadderGpu, TheStepWithSubgroupsIsRefusedWithoutThem) {
  const auto plan = plan_ladder(LadderStep::subgroups, ElementType::u32(), 100, context().traits());
  EXPECT_EQ(plan.has_value(), has_step(LadderStep::subgroups));
}

TEST(CpuSum, AddsAllItems) {
  std::vector<std::uint32_t> items(100001, 0xfffffff0u);
  EXPECT_EQ(bench::cpu_sum(items), static_cast<std::uint32_t>(100001u * 0xfffffff0u));
  // A running f32 sum of ones would stop at 2^24.
  EXPECT_EQ(bench::cpu_sum(std::vector<float>((1u << 24) + 5, 1.0f)), (1u << 24) + 5);
}

}  // namespace
}  // namespace upsweep::testing
