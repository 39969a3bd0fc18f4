// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/ladder/scan_ladder.h"

#include <array>

#include "benchmarking/ladder/cpu_steps.h"
#include "benchmarking/ladder/ladder_kernels.h"
#include "benchmarking/ladder/ladder_test.h"

namespace upsweep::testing {
namespace {

using bench::ScanStep;

class ScanLadderGpu : public LadderGpu {
 protected:
  // What other profiles run with the same kernels is left out.
  [[nodiscard]] std::vector<ScanStep> steps() const {
    if (GetParam() == Profile::minimum_limits) return {ScanStep::three_phase};
    if (GetParam() == Profile::emulated) {
      return {ScanStep::subgroups, ScanStep::subgroup_vectors, ScanStep::three_phase};
    }
    std::vector<ScanStep> all(bench::scan_steps.begin(), bench::scan_steps.end());
    if (!bench::ladder_has_subgroups(context().traits())) {
      std::erase(all, ScanStep::subgroups);
      std::erase(all, ScanStep::subgroup_vectors);
    }
    return all;
  }

  // Words around input and output are checked; those after the input, in its last unit, are poison that must not count.
  template <typename T>
  std::vector<T> scan(ScanStep step, const std::vector<T>& items, const DeviceTraits& traits) {
    const ElementType type = std::is_same_v<T, float> ? ElementType::f32() : ElementType::u32();
    const auto plan = bench::plan_scan_step(step, type, items.size(), traits, workgroup_size());
    if (!plan) {
      ADD_FAILURE() << plan.error().message;
      return std::vector<T>(items.size());
    }
    const GuardedBuffer input(context(), bytes_of(items));
    const GuardedBuffer output(context(), bytes_of(std::vector<std::uint32_t>((items.size() + 3) / 4 * 4, 77)));
    const std::array arguments{Argument{"input", input.view()}, Argument{"output", output.view()}};
    // Twice in one encoder: the second must not start from what the first left.
    run([&](WGPUCommandEncoder encoder) -> Status {
      if (const Status ok = context().record(encoder, *plan, arguments); !ok) return ok;
      return context().record(encoder, *plan, arguments);
    });
    (void)input.read_and_check_guards();
    std::vector<T> sums = items_of<T>(output.read_and_check_guards());
    sums.resize(items.size());
    return sums;
  }

  void expect_exact(ScanStep step, std::uint32_t n, const DeviceTraits& traits) {
    SCOPED_TRACE(bench::step_name(step));
    SCOPED_TRACE(n);
    const std::vector<std::uint32_t> items = words_of_input(n);
    const std::vector<std::uint32_t> sums = scan(step, items, traits);
    std::uint32_t expected = 0;
    for (std::uint32_t i = 0; i < n; ++i) {
      ASSERT_EQ(sums[i], expected) << "item " << i;
      expected += items[i];
    }
  }
};
// no_subgroups plans the ladder as minimum_limits does.
INSTANTIATE_TEST_SUITE_P(, ScanLadderGpu,
                         ::testing::Values(Profile::full, Profile::minimum_limits, Profile::tiny_tiles,
                                           Profile::emulated),
                         profile_name);

TEST_P(ScanLadderGpu, EveryStepScansIntegersExactly) {
  for (const ScanStep step : steps()) {
    for (const std::uint32_t n : sizes()) expect_exact(step, n, context().traits());
  }
}

TEST_P(ScanLadderGpu, EveryStepScansFloats) {
  for (const ScanStep step : steps()) {
    SCOPED_TRACE(bench::step_name(step));
    const std::uint32_t n = 20 * workgroup_size() + 3;
    const std::vector<float> items = floats_of_input(n);
    const std::vector<float> sums = scan(step, items, context().traits());
    double expected = 0;
    for (std::uint32_t i = 0; i < n; ++i) {
      ASSERT_NEAR(sums[i], expected, 1e-5 * n) << "item " << i;
      expected += items[i];
    }
  }
}

TEST_P(ScanLadderGpu, GridsOfTwoAndThreeDimensionsGiveTheSameSums) {
  for (const std::uint32_t limit : {50u, 6u}) {
    SCOPED_TRACE(limit);
    DeviceTraits traits = context().traits();
    traits.max_workgroups_per_dimension = limit;
    for (const ScanStep step : steps()) expect_exact(step, many_tiles(), traits);
  }
}

class ScanLadderSubgroupsGpu : public ScanLadderGpu {};
INSTANTIATE_TEST_SUITE_P(, ScanLadderSubgroupsGpu, ::testing::Values(Profile::emulated), profile_name);

// From 64 subgroups of 4 lanes to two of 128.
TEST_P(ScanLadderSubgroupsGpu, OfEverySizeGiveTheSameSums) {
  for (const std::uint32_t size : {4u, 8u, 32u, 64u, 128u}) {
    SCOPED_TRACE(size);
    DeviceTraits traits = context().traits();
    traits.emulated_subgroup_size = size;
    expect_exact(ScanStep::subgroups, 300, traits);
    expect_exact(ScanStep::three_phase, 1100, traits);
  }
}

TEST(CpuSteps, ScanAllItems) {
  const std::vector<std::uint32_t> items{5, 0xffffffffu, 7, 1};
  std::vector<std::uint32_t> sums(4);
  bench::cpu_exclusive_sum(items, sums);
  EXPECT_EQ(sums, (std::vector<std::uint32_t>{0, 5, 4, 11}));
  // A running f32 sum of ones would stop at 2^24.
  const std::vector<float> ones((1u << 24) + 5, 1.0f);
  std::vector<float> counts(ones.size());
  bench::cpu_exclusive_sum(ones, counts);
  EXPECT_EQ(counts.front(), 0.0f);
  EXPECT_EQ(counts.back(), static_cast<float>((1u << 24) + 4));
}

}  // namespace
}  // namespace upsweep::testing
