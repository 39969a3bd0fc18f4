// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/ladder/histogram_ladder.h"

#include <array>

#include "benchmarking/ladder/cpu_steps.h"
#include "benchmarking/ladder/ladder_test.h"

namespace upsweep::testing {
namespace {

using bench::HistogramStep;
using bench::Samples;

class HistogramLadderGpu : public LadderGpu {
 protected:
  static std::vector<float> samples_of(Samples kind, std::uint32_t count) {
    std::vector<float> items(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      items[i] = static_cast<float>(bench::sample_units(kind, i, count)) * (1.0f / 16777216.0f);
    }
    return items;
  }

  static std::vector<std::uint32_t> counts_of(Samples kind, std::uint32_t count, std::uint32_t bins) {
    std::vector<std::uint32_t> counts(bins);
    for (std::uint32_t i = 0; i < count; ++i) {
      ++counts[std::uint64_t{bench::sample_units(kind, i, count)} * bins >> 24];
    }
    return counts;
  }

  std::vector<std::uint32_t> histogram(HistogramStep step, const std::vector<float>& items, std::uint32_t bins,
                                       const DeviceTraits& traits) {
    const auto plan = bench::plan_histogram_step(step, bins, items.size(), traits, workgroup_size());
    if (!plan) {
      ADD_FAILURE() << plan.error().message;
      return {};
    }
    const GuardedBuffer input(context(), bytes_of(items));
    const GuardedBuffer output(context(), bytes_of(std::vector<std::uint32_t>(bins, 77)));
    const std::array arguments{Argument{"input", input.view()}, Argument{"output", output.view()}};
    // Twice in one encoder: the second must not start from what the first left.
    run([&](WGPUCommandEncoder encoder) -> Status {
      if (const Status ok = context().record(encoder, *plan, arguments); !ok) return ok;
      return context().record(encoder, *plan, arguments);
    });
    (void)input.read_and_check_guards();
    return items_of<std::uint32_t>(output.read_and_check_guards());
  }
};
INSTANTIATE_TEST_SUITE_P(, HistogramLadderGpu, ::testing::Values(Profile::full, Profile::tiny_tiles), profile_name);

TEST_P(HistogramLadderGpu, EveryStepCountsEverySample) {
  const std::uint32_t bins = is_tiny() ? 8 : 256;
  for (const HistogramStep step : bench::histogram_steps) {
    SCOPED_TRACE(bench::step_name(step));
    for (const Samples kind : bench::sample_kinds) {
      SCOPED_TRACE(bench::to_string(kind));
      for (const std::uint32_t n : sizes()) {
        SCOPED_TRACE(n);
        if (n < 2) continue;
        EXPECT_EQ(histogram(step, samples_of(kind, n), bins, context().traits()), counts_of(kind, n, bins));
      }
    }
  }
}

TEST_P(HistogramLadderGpu, ManyEqualSamplesOverflowNoByte) {
  const std::uint32_t n = is_tiny() ? 20'000 : 1'000'000;
  for (const HistogramStep step : bench::histogram_steps) {
    EXPECT_EQ(histogram(step, samples_of(Samples::constant, n), 8, context().traits()),
              counts_of(Samples::constant, n, 8));
  }
}

TEST_P(HistogramLadderGpu, TheDeviceMakesTheSamplesOfTheHost) {
  for (const Samples kind : bench::sample_kinds) {
    for (const std::uint32_t n : {2u, 1000u, 70'001u}) {
      const auto plan = bench::plan_samples(kind, n, context().traits());
      ASSERT_TRUE(plan.has_value()) << plan.error().message;
      const GuardedBuffer output(context(), bytes_of(std::vector<float>(n, 7.0f)));
      const std::array arguments{Argument{"output", output.view()}};
      run([&](WGPUCommandEncoder encoder) { return context().record(encoder, *plan, arguments); });
      expect_items(items_of<float>(output.read_and_check_guards()), samples_of(kind, n));
    }
  }
}

TEST(CpuSteps, CountSamplesInRange) {
  std::vector<std::uint32_t> counts(4);
  bench::cpu_histogram(std::vector<float>{0.0f, 0.25f, 0.3f, 0.99f, 1.0f, -0.1f}, counts);
  EXPECT_EQ(counts, (std::vector<std::uint32_t>{1, 2, 0, 1}));
}

}  // namespace
}  // namespace upsweep::testing
