// SPDX-License-Identifier: Apache-2.0
// The state that all single-pass plans of a context share: what one plan leaves there must not reach another.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "testing/gpu_test.h"

namespace upsweep::testing {
namespace {

class ScanSharedStateGpu : public GpuTest {
 protected:
  static ScanTuning small_tiles() {
    return {.path = ScanPath::single_pass,
            .workgroup_size = 4,
            .rows = 2,
            .use_vectors = false,
            .use_subgroups = false,
            .poll_rounds = 0};
  }

  void check(const std::vector<std::uint32_t>& items, const ScanTuning& tuning) {
    const GuardedBuffer input(context(), bytes_of(items));
    const GuardedBuffer output(context(), bytes_of(items));
    const ScanShape shape{.item_count = Count::on_host(items.size()), .input = ElementType::u32()};
    run([&](WGPUCommandEncoder encoder) {
      return record_scan(context(), encoder, shape, {.input = input.view(), .output = output.view()}, tuning);
    });
    std::vector<std::uint32_t> wanted(items.size());
    std::inclusive_scan(items.begin(), items.end(), wanted.begin());
    EXPECT_EQ(items_of<std::uint32_t>(output.read_and_check_guards()), wanted);
  }
};

INSTANTIATE_TEST_SUITE_P(Profiles, ScanSharedStateGpu, ::testing::Values(Profile::full), profile_name);

TEST_P(ScanSharedStateGpu, RecordsOfALargeScanAreGoneWhenItsRunNumberComesAgain) {
  std::vector<std::uint32_t> items(4096);
  std::iota(items.begin(), items.end(), 1u);
  check(items, small_tiles());
  // Runs are numbered modulo 16383. Meanwhile only a small plan runs: it must sweep the records that it does not use.
  const std::vector<std::uint32_t> few(8, 1);
  const GuardedBuffer input(context(), bytes_of(few));
  const GuardedBuffer output(context(), bytes_of(few));
  const ScanShape shape{.item_count = Count::on_host(few.size()), .input = ElementType::u32()};
  constexpr std::uint32_t runs = 16382;
  for (std::uint32_t done = 0; done < runs;) {
    run([&](WGPUCommandEncoder encoder) -> Status {
      for (std::uint32_t i = 0; i < 1024 && done < runs; ++i, ++done) {
        const Status ok =
            record_scan(context(), encoder, shape, {.input = input.view(), .output = output.view()}, small_tiles());
        if (!ok) return ok;
      }
      return {};
    });
  }
  // Hidden tiles make their neighbours look at records that nobody has written in this run.
  DeviceTraits traits = context().traits();
  traits.test_hidden_chunks = 2;
  context().override_traits(traits);
  std::iota(items.begin(), items.end(), 1'000'000u);
  check(items, small_tiles());
}

TEST_P(ScanSharedStateGpu, PlansWithMoreWorkgroupsThanTicketsAreRefusedOrTakeTwoPasses) {
  // 262141 tiles fold into a grid of 52429 x 5 = 262145 workgroups, one ticket each; there are 2^18 - 1.
  DeviceTraits traits = DeviceTraits::webgpu_minimum();
  traits.look_back = true;
  const ScanShape shape{.item_count = Count::on_host(2'097'128), .input = ElementType::u32()};
  const auto forced = plan_scan(shape, traits, small_tiles());
  ASSERT_FALSE(forced.has_value());
  EXPECT_EQ(forced.error().kind, ErrorKind::invalid_request);
  ScanTuning tuning = small_tiles();
  tuning.path = ScanPath::automatic;
  const auto chosen = plan_scan(shape, traits, tuning);
  ASSERT_TRUE(chosen.has_value()) << chosen.error().message;
  EXPECT_EQ(chosen->dispatches.size(), 2u);
}

TEST_P(ScanSharedStateGpu, DefaultTuningsFitWhereSubgroupsHaveNoNumbers) {
  DeviceTraits traits = DeviceTraits::webgpu_minimum();
  traits.subgroups = true;
  traits.subgroup_min_size = 4;
  for (const std::uint32_t largest : {0u, 64u}) {
    traits.subgroup_max_size = largest;
    const Count count = Count::on_host(10'000'000);
    EXPECT_TRUE(plan_scan({.item_count = count}, traits).has_value());
    EXPECT_TRUE(plan_select({.item_count = count, .predicate = Predicate::of("x > 0.0")}, traits).has_value());
    EXPECT_TRUE(plan_unique({.item_count = count}, traits).has_value());
    EXPECT_TRUE(plan_run_length({.item_count = count}, traits).has_value());
    EXPECT_TRUE(plan_reduce_by_key({.item_count = count}, traits).has_value());
  }
}

TEST_P(ScanSharedStateGpu, ValuesMayShareABufferWithTheOutputOfAReductionByKey) {
  const std::vector<std::uint32_t> keys{1, 1, 2, 2, 2, 3};
  std::vector<std::uint32_t> values(256, 7);
  for (std::uint32_t i = 0; i < 6; ++i) values[i] = i + 1;
  const GuardedBuffer key_buffer(context(), bytes_of(keys));
  const GuardedBuffer shared(context(), bytes_of(values));
  const GuardedBuffer unique(context(), bytes_of(std::vector<std::uint32_t>(6, 0)));
  const GuardedBuffer count(context(), bytes_of(std::vector<std::uint32_t>(1, 0)));
  const ReduceByKeyShape shape{.item_count = Count::on_host(6), .input = ElementType::u32()};
  run([&](WGPUCommandEncoder encoder) {
    BufferView output = shared.view();
    output.offset_bytes += 512;
    return record_reduce_by_key(context(), encoder, shape,
                                {.keys = key_buffer.view(),
                                 .input = shared.view(),
                                 .unique_keys = unique.view(),
                                 .output = output,
                                 .count = count.view()});
  });
  for (std::uint32_t i = 0; i < 3; ++i) values[128 + i] = std::vector<std::uint32_t>{3, 12, 6}[i];
  EXPECT_EQ(items_of<std::uint32_t>(shared.read_and_check_guards()), values);
  EXPECT_EQ(items_of<std::uint32_t>(count.read_and_check_guards()).at(0), 3u);
}

}  // namespace
}  // namespace upsweep::testing
