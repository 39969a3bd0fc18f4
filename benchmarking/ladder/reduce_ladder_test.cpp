// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/ladder/reduce_ladder.h"

#include <array>
#include <bit>
#include <numeric>

#include "benchmarking/ladder/cpu_steps.h"
#include "benchmarking/ladder/ladder_kernels.h"
#include "benchmarking/ladder/ladder_test.h"

namespace upsweep::testing {
namespace {

using bench::ReduceStep;

class ReduceLadderGpu : public LadderGpu {
 protected:
  // What other profiles run with the same kernels is left out.
  [[nodiscard]] std::vector<ReduceStep> steps() const {
    if (GetParam() == Profile::emulated) return {ReduceStep::subgroups};
    std::vector<ReduceStep> all(bench::reduce_steps.begin(), bench::reduce_steps.end());
    if (!bench::ladder_has_subgroups(context().traits())) std::erase(all, ReduceStep::subgroups);
    return all;
  }

  // The result's bits. Words around input and output are checked; those after the input are poison that must not count.
  std::uint32_t sum(ReduceStep step, const ElementType& type, std::span<const std::byte> items,
                    const DeviceTraits& traits) {
    const auto plan = bench::plan_reduce_step(step, type, items.size() / 4, traits, workgroup_size());
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
INSTANTIATE_TEST_SUITE_P(, ReduceLadderGpu, ::testing::Values(Profile::full, Profile::tiny_tiles, Profile::emulated),
                         profile_name);

TEST_P(ReduceLadderGpu, EveryStepSumsIntegersExactly) {
  for (const ReduceStep step : steps()) {
    SCOPED_TRACE(bench::step_name(step));
    for (const std::uint32_t n : sizes()) {
      SCOPED_TRACE(n);
      const std::vector<std::uint32_t> items = words_of_input(n);
      EXPECT_EQ(sum(step, ElementType::u32(), bytes_of(items), context().traits()),
                std::accumulate(items.begin(), items.end(), 0u));
    }
  }
}

TEST_P(ReduceLadderGpu, EveryStepButTheAtomicSumsFloats) {
  for (const ReduceStep step : steps()) {
    if (step == ReduceStep::atomic) continue;
    SCOPED_TRACE(bench::step_name(step));
    for (const std::uint32_t n : sizes()) {
      SCOPED_TRACE(n);
      const std::vector<float> items = floats_of_input(n);
      const std::uint32_t bits = sum(step, ElementType::f32(), bytes_of(items), context().traits());
      EXPECT_NEAR(std::bit_cast<float>(bits), std::accumulate(items.begin(), items.end(), 0.0), 1e-5 * n);
    }
  }
}

TEST_P(ReduceLadderGpu, GridsOfTwoAndThreeDimensionsGiveTheSameSums) {
  const std::vector<std::uint32_t> items = words_of_input(many_tiles());
  for (const std::uint32_t limit : {50u, 6u}) {
    SCOPED_TRACE(limit);
    DeviceTraits traits = context().traits();
    traits.max_workgroups_per_dimension = limit;
    for (const ReduceStep step : steps()) {
      SCOPED_TRACE(bench::step_name(step));
      EXPECT_EQ(sum(step, ElementType::u32(), bytes_of(items), traits),
                std::accumulate(items.begin(), items.end(), 0u));
    }
  }
}

TEST(CpuSteps, AddAllItems) {
  std::vector<std::uint32_t> items(100001, 0xfffffff0u);
  EXPECT_EQ(bench::cpu_sum(items), static_cast<std::uint32_t>(100001u * 0xfffffff0u));
  // A running f32 sum of ones would stop at 2^24.
  EXPECT_EQ(bench::cpu_sum(std::vector<float>((1u << 24) + 5, 1.0f)), (1u << 24) + 5);
}

}  // namespace
}  // namespace upsweep::testing
