// SPDX-License-Identifier: Apache-2.0
// Differences of neighbours on a device against std::adjacent_difference.
#include <gmock/gmock.h>

#include <format>
#include <limits>
#include <numeric>

#include "primitives/scan/scan_reference.h"
#include "testing/generators.h"
#include "testing/gpu_test.h"
#include "testing/operators_for_tests.h"
#include "upsweep/adjacent_difference.h"

namespace upsweep::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

/// How one call of a test runs, beside its shape.
struct Setting {
  std::optional<ScanTuning> tuning = {};
  std::uint64_t input_item = 0;
  std::uint64_t output_item = 0;
  std::optional<std::uint32_t> count = {};  ///< Of items, read on the device.
};

class AdjacentDifferenceGpu : public GpuTest {
 protected:
  template <typename T, typename Difference>
  void check(const std::vector<T>& items, AdjacentDifferenceShape shape, const Setting& setting,
             Difference difference) {
    SCOPED_TRACE(std::format("{} {}{}", items.size(), shape.input.name,
                             setting.count ? std::format(", {} on the device", *setting.count) : ""));
    shape.item_count = {items.size(), setting.count.has_value()};
    const GuardedBuffer input(context(), bytes_of(items), item_offset<T>(setting.input_item));
    const GuardedBuffer output(context(), bytes_of(unwritten<T>(items.size())), item_offset<T>(setting.output_item));
    const GuardedBuffer item_count(context(), bytes_of(std::vector{setting.count.value_or(0)}), 12);
    AdjacentDifferenceBuffers buffers{.input = input.view(), .output = output.view()};
    if (setting.count) buffers.item_count = item_count.view();
    run([&](WGPUCommandEncoder encoder) {
      return record_adjacent_difference(context(), encoder, shape, buffers, setting.tuning);
    });
    auto expected = unwritten<T>(items.size());
    const std::size_t used = std::min<std::size_t>(items.size(), setting.count.value_or(0xffffffffu));
    std::adjacent_difference(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(used), expected.begin(),
                             difference);
    const auto results = items_of<T>(output.read_and_check_guards());
    if constexpr (reference::is_float<T>) {
      expect_items(results, expected, reference::is_equal_by_value<T>);
    } else {
      expect_items(results, expected);
    }
  }
};
INSTANTIATE_TEST_SUITE_P(, AdjacentDifferenceGpu, all_profiles, profile_name);

TEST_P(AdjacentDifferenceGpu, NeighboursAreSubtractedAtEverySizeAroundAThreshold) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const std::uint32_t most = affordable(66'000);
  const auto words = random_items<std::uint32_t>(most, seed);
  for (const std::uint32_t count : scan_sizes(scan_tuning(ScanPath::automatic), most)) {
    for (const std::uint64_t output_item : {0u, 1u}) {  // alike modulo four items, and not
      check(std::vector<std::uint32_t>(words.end() - count, words.end()), {.input = ElementType::u32()},
            {.tuning = scan_tuning(), .output_item = output_item}, std::minus<>());
    }
    if (HasFailure()) return;
  }
}

TEST_P(AdjacentDifferenceGpu, DifferencesUndoAScan) {
  const auto words = random_items<std::uint32_t>(affordable(20'000), test_seed());
  const auto sums = reference::scan_to_items<std::uint32_t>(OperatorKind::sum, words, {});
  std::vector<std::uint32_t> differences(sums.size());
  std::adjacent_difference(sums.begin(), sums.end(), differences.begin());
  ASSERT_EQ(differences, words);
  check(sums, {.input = ElementType::u32()}, {.tuning = scan_tuning()}, std::minus<>());
}

TEST_P(AdjacentDifferenceGpu, ItemsOfEveryTypeAreSubtracted) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const std::uint32_t count = affordable(9001);
  const Setting setting{.tuning = scan_tuning(), .input_item = 1, .output_item = 2};
  check(random_items<std::int64_t>(count, seed, Values::any), {.input = ElementType::i64()}, setting,
        [](std::int64_t x, std::int64_t before) {
          return static_cast<std::int64_t>(static_cast<std::uint64_t>(x) - static_cast<std::uint64_t>(before));
        });
  check(random_items<float>(count, seed, Values::small), {.input = ElementType::f32()}, setting, std::minus<>());
  if (!is_thorough()) return;
  check(random_items<std::uint64_t>(count, seed), {.input = ElementType::u64()}, setting, std::minus<>());
  check(random_items<Vec<std::uint32_t, 2>>(count, seed), {.input = ElementType::vec(Scalar::u32, 2)}, setting,
        [](const auto& x, const auto& before) { return Vec<std::uint32_t, 2>{x[0] - before[0], x[1] - before[1]}; });
  check(random_items<Vec<float, 4>>(count, seed, Values::small), {.input = ElementType::vec(Scalar::f32, 4)}, setting,
        [](const auto& x, const auto& before) {
          return Vec<float, 4>{x[0] - before[0], x[1] - before[1], x[2] - before[2], x[3] - before[3]};
        });
  if (!context().traits().f16) return;
  check(random_items<Half>(count, seed, Values::small), {.input = ElementType::f16()}, {.tuning = scan_tuning()},
        [](Half x, Half before) { return half_of(number_of(x) - number_of(before)); });
}

TEST_P(AdjacentDifferenceGpu, ExpressionsOfTheCallersAreApplied) {
  Random random(test_seed());
  SCOPED_TRACE(seed_note(test_seed()));
  const std::uint32_t count = affordable(9000);
  const Setting setting{.tuning = scan_tuning(), .input_item = 3};
  check(random_items<std::uint32_t>(count, test_seed()),
        {.input = ElementType::u32(),
         .expression = "mix3(x, before)",
         .wgsl = "fn mix3(x: u32, before: u32) -> u32 { return x * 3u + before; }"},
        setting, [](std::uint32_t x, std::uint32_t before) { return x * 3 + before; });
  std::vector<Affine> maps;
  for (std::uint32_t i = 0; i < count; ++i) maps.push_back(Affine::item(i));
  check(maps, {.input = Affine::type(), .expression = "Affine(x.scale * before.scale, x.shift - before.shift)"},
        setting,
        [](const Affine& x, const Affine& before) { return Affine{x.scale * before.scale, x.shift - before.shift}; });
  if (!is_thorough()) return;
  std::vector<Tally<16>> records;
  for (std::uint32_t i = 0; i < std::min(count, 3000u); ++i) records.push_back(Tally<16>::item(random));
  check(records, {.input = Tally<16>::type(), .expression = "Tally(x.total - before.total, before.top, x.marks)"},
        setting, [](const Tally<16>& x, const Tally<16>& before) {
          return Tally<16>{x.total - before.total, before.top, x.marks};
        });
}

TEST_P(AdjacentDifferenceGpu, TheFirstItemIsCopiedBitByBit) {
  for (const std::uint32_t bits : {0x7fa12345u, 0xffc00001u, 0x80000000u, 1u}) {
    const auto items = items_of<float>(bytes_of(std::vector{bits}));
    const GuardedBuffer input(context(), bytes_of(items), 4);
    const GuardedBuffer output(context(), bytes_of(unwritten<float>(1)), 8);
    run([&](WGPUCommandEncoder encoder) {
      return record_adjacent_difference(context(), encoder, {.item_count = Count::on_host(1)},
                                        {.input = input.view(), .output = output.view()}, scan_tuning());
    });
    EXPECT_EQ(items_of<std::uint32_t>(output.read_and_check_guards()).at(0), bits);
  }
}

TEST_P(AdjacentDifferenceGpu, CountsAreReadOnTheDevice) {
  const std::uint32_t most = affordable(30'000);
  const auto words = random_items<std::uint32_t>(most, test_seed());
  for (const std::uint32_t count : {0u, 1u, 2u, 257u, most / 2, most - 1, most, most + 1, 0xffffffffu}) {
    check(words, {.input = ElementType::u32()}, {.tuning = scan_tuning(), .count = count}, std::minus<>());
  }
  check(std::vector<std::uint32_t>{}, {.input = ElementType::u32()}, {.tuning = scan_tuning()}, std::minus<>());
}

TEST_P(AdjacentDifferenceGpu, OneCommandBufferHoldsManyAndRangesOfOneBufferWork) {
  const std::uint32_t count = affordable(20'000);
  const auto words = random_items<std::uint32_t>(count, 1);
  std::vector<std::uint32_t> image(3 * (count + 128), 0x5a5a5a5a);
  std::ranges::copy(words, image.begin());
  const GuardedBuffer all(context(), bytes_of(image));
  const auto at = [&](std::uint64_t word) { return BufferView{all.buffer(), all.view().offset_bytes + 4 * word}; };
  run([&](WGPUCommandEncoder encoder) -> Status {
    // Differences of differences.
    for (const std::uint64_t from : {std::uint64_t{0}, std::uint64_t{count} + 128}) {
      const Status status = record_adjacent_difference(
          context(), encoder, {.item_count = Count::on_host(count), .input = ElementType::u32()},
          {.input = at(from), .output = at(from + count + 128)}, scan_tuning());
      if (!status) return status;
    }
    return {};
  });
  const auto first = image.begin() + count + 128;
  std::adjacent_difference(image.begin(), image.begin() + count, first);
  std::adjacent_difference(first, first + count, first + count + 128);
  expect_items(items_of<std::uint32_t>(all.read_and_check_guards()), image);
}

TEST_P(AdjacentDifferenceGpu, ImpossibleRequestsAreRefused) {
  const auto refusal = [&](const AdjacentDifferenceShape& shape) -> std::string {
    const auto plan = plan_adjacent_difference(shape, context().traits());
    if (plan) return "no error";
    EXPECT_THAT(plan.error().kind, AnyOf(ErrorKind::invalid_request, ErrorKind::unsupported));
    return plan.error().message;
  };
  EXPECT_NE(refusal({.item_count = Count::on_host(10), .input = MinMax::type()}), "no error")
      << "structs have no difference of their own";
  EXPECT_NE(refusal({.item_count = Count::on_host(0xffffffffu)}), "no error");
  const std::vector<std::uint32_t> words(100, 3);
  const GuardedBuffer all(context(), bytes_of(words));
  std::string message;
  run([&](WGPUCommandEncoder encoder) -> Status {
    const Status status = record_adjacent_difference(context(), encoder, {.item_count = Count::on_host(100)},
                                                     {.input = all.view(), .output = all.view()}, scan_tuning());
    message = status ? "no error" : status.error().message;
    return {};
  });
  EXPECT_THAT(message, HasSubstr("overlap"));
  EXPECT_EQ(items_of<std::uint32_t>(all.read_and_check_guards()), words);
}

/// Traits that no profile has, put over the device's own.
class AdjacentDifferenceInjectedGpu : public AdjacentDifferenceGpu {};
INSTANTIATE_TEST_SUITE_P(, AdjacentDifferenceInjectedGpu, ::testing::Values(Profile::no_subgroups, Profile::tiny_tiles),
                         profile_name);

TEST_P(AdjacentDifferenceInjectedGpu, WindowsSeeTheItemBeforeThem) {
  const auto words = random_items<std::uint32_t>(2000, test_seed());
  DeviceTraits traits = context().traits().with_default_limits();
  traits.max_binding_bytes = 1024;
  context().override_traits(traits);
  for (const std::uint32_t count : {1u, 64u, 65u, 128u, 129u, 191u, 192u, 193u, 256u, 257u, 1000u, 2000u}) {
    check(std::vector<std::uint32_t>(words.begin(), words.begin() + count), {.input = ElementType::u32()},
          {.tuning = scan_tuning(), .input_item = count % 3, .output_item = count % 2}, std::minus<>());
  }
  Random random(test_seed());
  std::vector<Tally<3>> records;
  for (std::uint32_t i = 0; i < 700; ++i) records.push_back(Tally<3>::item(random));
  check(records, {.input = Tally<3>::type(), .expression = "Tally(x.total - before.total, before.top, x.marks)"},
        {.tuning = scan_tuning()}, [](const Tally<3>& x, const Tally<3>& before) {
          return Tally<3>{x.total - before.total, before.top, x.marks};
        });
}

TEST_P(AdjacentDifferenceInjectedGpu, TwoOrThreeWorkgroupsADimensionFoldIntoThree) {
  const auto words = random_items<std::uint32_t>(affordable(20'000), test_seed());
  for (const std::uint32_t limit : {2u, 3u}) {
    DeviceTraits traits = traits_of(GetParam(), device_traits());
    traits.max_workgroups_per_dimension = limit;
    context().override_traits(traits);
    std::uint32_t planned = 0;
    for (const std::size_t count : {std::size_t{9}, std::size_t{50}, std::size_t{100}, words.size()}) {
      SCOPED_TRACE(count);
      if (!plan_adjacent_difference({.item_count = Count::on_host(count), .input = ElementType::u32()}, traits,
                                    scan_tuning())) {
        EXPECT_GT(count, 8u * limit * limit * limit) << "fits into the grid even with tiny tiles";
        continue;
      }
      ++planned;
      check(std::vector<std::uint32_t>(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(count)),
            {.input = ElementType::u32()}, {.tuning = scan_tuning()}, std::minus<>());
    }
    EXPECT_GE(planned, 1u);
  }
}

}  // namespace
}  // namespace upsweep::testing
