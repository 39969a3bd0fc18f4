// SPDX-License-Identifier: Apache-2.0
// Partitions on a device against std::stable_partition.
#include <gmock/gmock.h>

#include <algorithm>
#include <format>
#include <functional>
#include <numeric>

#include "primitives/scan/scan_reference.h"
#include "testing/generators.h"
#include "testing/gpu_test.h"
#include "testing/operators_for_tests.h"
#include "upsweep/partition.h"

namespace upsweep::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

/// How one partition of a test runs, beside its shape.
struct Setting {
  std::optional<ScanTuning> tuning = {};
  std::uint64_t input_item = 0;
  std::uint64_t output_item = 0;
  std::vector<std::byte> flags = {};
  std::optional<std::uint32_t> count = {};  ///< Of items, read on the device.
};

class PartitionGpu : public GpuTest {
 protected:
  /// `part(item, index)` is 0, 1 or 2.
  template <typename T, typename Part>
  void check(const std::vector<T>& items, PartitionShape shape, const Setting& setting, Part part) {
    SCOPED_TRACE(std::format("{} {}{}", items.size(), shape.input.name,
                             setting.count ? std::format(", {} on the device", *setting.count) : ""));
    shape.item_count = {items.size(), setting.count.has_value()};
    const std::size_t counts = shape.second ? 2 : 1;
    const GuardedBuffer input(context(), bytes_of(items), item_offset<T>(setting.input_item));
    const GuardedBuffer output(context(), bytes_of(unwritten<T>(items.size())), item_offset<T>(setting.output_item));
    const GuardedBuffer count(context(), bytes_of(unwritten<std::uint32_t>(counts)), 20);
    const GuardedBuffer flags(context(), setting.flags, 4);
    const GuardedBuffer item_count(context(), bytes_of(std::vector{setting.count.value_or(0)}), 12);
    PartitionBuffers buffers{.input = input.view(), .output = output.view(), .count = count.view()};
    if (!setting.flags.empty()) buffers.flags = flags.view();
    if (setting.count) buffers.item_count = item_count.view();
    run([&](WGPUCommandEncoder encoder) {
      return record_partition(context(), encoder, shape, buffers, setting.tuning);
    });

    std::vector<std::uint32_t> order(std::min<std::size_t>(items.size(), setting.count.value_or(0xffffffffu)));
    std::iota(order.begin(), order.end(), 0u);
    const auto is_in = [&](int wanted) { return [&, wanted](std::uint32_t i) { return part(items[i], i) == wanted; }; };
    const auto second = std::stable_partition(order.begin(), order.end(), is_in(0));
    const auto rest = std::stable_partition(second, order.end(), is_in(1));
    auto expected = unwritten<T>(items.size());
    for (std::size_t i = 0; i < order.size(); ++i) expected[i] = items[order[i]];
    std::vector<std::uint32_t> expected_counts{static_cast<std::uint32_t>(second - order.begin())};
    if (shape.second) expected_counts.push_back(static_cast<std::uint32_t>(rest - second));
    expect_items(items_of<T>(output.read_and_check_guards()), expected);
    EXPECT_EQ(items_of<std::uint32_t>(count.read_and_check_guards()), expected_counts);
  }
};
INSTANTIATE_TEST_SUITE_P(, PartitionGpu, all_profiles, profile_name);

TEST_P(PartitionGpu, PartsKeepTheirOrderAtEverySizeAroundAThreshold) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const std::uint32_t most = affordable(20'000);
  const auto words = random_items<std::uint32_t>(most, seed);
  const ScanTuning tuning = scan_tuning(ScanPath::automatic);
  for (const std::uint32_t count : scan_sizes(tuning, most)) {
    const std::vector<std::uint32_t> items(words.end() - count, words.end());
    const Setting setting{.tuning = scan_tuning(), .output_item = count % 4};
    check(items, {.input = ElementType::u32(), .first = Predicate::of("x % 3u == 0u")}, setting,
          [](std::uint32_t x, std::uint32_t) { return x % 3 == 0 ? 0 : 1; });
    check(items,
          {.input = ElementType::u32(),
           .first = Predicate::of("x % 4u == 0u"),
           .second = Predicate::of("x % 2u == 0u || i % 7u == 3u")},
          setting, [](std::uint32_t x, std::uint32_t i) { return x % 4 == 0                 ? 0
                                                                 : x % 2 == 0 || i % 7 == 3 ? 1
                                                                                            : 2; });
    if (HasFailure()) return;
  }
}

TEST_P(PartitionGpu, ItemsOfEveryTypeKeepTheirBits) {
  const std::uint32_t count = affordable(9000);
  const Setting setting{.tuning = scan_tuning(), .input_item = 1, .output_item = 2};
  const Predicate first = Predicate::of("i % 3u == 1u");
  const Predicate second = Predicate::of("i % 3u == 2u");
  const auto part = [](const auto&, std::uint32_t i) { return i % 3 == 1 ? 0 : i % 3 == 2 ? 1 : 2; };
  const auto words = random_items<std::uint32_t>(count, test_seed());
  check(items_of<float>(bytes_of(words)), {.input = ElementType::f32(), .first = first, .second = second}, setting,
        part);
  if (!is_thorough()) return;
  check(random_items<std::uint64_t>(count, 1), {.input = ElementType::i64(), .first = first, .second = second}, setting,
        part);
  Random random(test_seed());
  std::vector<Tally<5>> records;
  for (std::uint32_t i = 0; i < count; ++i) records.push_back(Tally<5>::item(random));
  check(records, {.input = Tally<5>::type(), .first = Predicate::of("x.top > 0.0")}, setting,
        [](const Tally<5>& x, std::uint32_t) { return x.top > 0 ? 0 : 1; });
  if (!context().traits().f16) return;
  check(random_items<Half>(count + 1, 1), {.input = ElementType::f16(), .first = first, .second = second},
        {.tuning = scan_tuning()}, part);
}

/// Shapes and ways to record that need no run in each profile.
class PartitionShapesGpu : public PartitionGpu {};
INSTANTIATE_TEST_SUITE_P(, PartitionShapesGpu, profiles_without_limits, profile_name);

TEST_P(PartitionShapesGpu, FlagsOfEveryFormatChooseTheFirstPart) {
  std::vector<std::uint32_t> eight(8);
  std::iota(eight.begin(), eight.end(), 1u);
  const std::vector<bool> flags{true, false, false, true, false, true, true, false};
  Random random(test_seed());
  SCOPED_TRACE(seed_note(test_seed()));
  for (const FlagFormat format : {FlagFormat::words, FlagFormat::bytes, FlagFormat::bits}) {
    if (!is_thorough() && format != FlagFormat::bits) continue;
    const PartitionShape shape{.input = ElementType::u32(), .first = Predicate::flagged(format)};
    check(eight, shape, {.tuning = scan_tuning(), .flags = reference::packed_flags(format, flags, random)},
          [&](std::uint32_t, std::uint32_t i) { return flags[i] ? 0 : 1; });
    const auto many = random_items<std::uint32_t>(affordable(20'001), test_seed());
    const auto chosen = reference::random_flags(many.size(), 3, random);
    check(many, shape,
          {.tuning = scan_tuning(), .input_item = 3, .flags = reference::packed_flags(format, chosen, random)},
          [&](std::uint32_t, std::uint32_t i) { return chosen[i] ? 0 : 1; });
  }
}

TEST_P(PartitionShapesGpu, CountsAreReadOnTheDeviceAndNothingIsPartitioned) {
  const std::uint32_t most = affordable(30'000);
  const auto words = random_items<std::uint32_t>(most, test_seed());
  const PartitionShape two{.input = ElementType::u32(), .first = Predicate::of("x % 3u == 0u")};
  const PartitionShape three{
      .input = ElementType::u32(), .first = Predicate::of("x % 3u == 0u"), .second = Predicate::of("x % 3u == 1u")};
  const auto part_of_two = [](std::uint32_t x, std::uint32_t) { return x % 3 == 0 ? 0 : 1; };
  const auto part_of_three = [](std::uint32_t x, std::uint32_t) { return static_cast<int>(x % 3); };
  for (const std::uint32_t count : {0u, 1u, 257u, most / 2, most - 1, most, most + 1, 0xffffffffu}) {
    check(words, two, {.tuning = scan_tuning(), .count = count}, part_of_two);
    if (!is_thorough()) continue;
    check(words, three, {.tuning = scan_tuning(), .count = count}, part_of_three);
  }
  check(std::vector<std::uint32_t>{}, two, {.tuning = scan_tuning()}, part_of_two);
  check(std::vector<std::uint32_t>{}, three, {.tuning = scan_tuning()}, part_of_three);
}

TEST_P(PartitionShapesGpu, AllItemsMayBeOfOnePart) {
  const std::vector<std::uint32_t> items = random_items<std::uint32_t>(affordable(20'000), 1);
  for (const int wanted : {0, 1, 2}) {
    const auto all = [&](int k) { return Predicate::of(wanted == k ? "x == x" : "x != x"); };
    check(items, {.input = ElementType::u32(), .first = all(0), .second = all(1)}, {.tuning = scan_tuning()},
          [&](std::uint32_t, std::uint32_t) { return wanted; });
    if (!is_tiny()) return;  // kernels of their own: once is enough where they compile slowly
  }
}

TEST_P(PartitionShapesGpu, OneCommandBufferHoldsManyPartitions) {
  const auto a = random_items<std::uint32_t>(affordable(50'000), 1);
  const auto b = random_items<std::uint32_t>(700, 2);
  const GuardedBuffer a_input(context(), bytes_of(a), 4);
  const GuardedBuffer b_input(context(), bytes_of(b), 4);
  std::vector<std::unique_ptr<GuardedBuffer>> outputs;
  const GuardedBuffer counts(context(), bytes_of(unwritten<std::uint32_t>(3)), 4);
  for (const bool is_a : {true, false, true}) {
    outputs.push_back(
        std::make_unique<GuardedBuffer>(context(), bytes_of(unwritten<std::uint32_t>(is_a ? a.size() : b.size())), 8));
  }
  run([&](WGPUCommandEncoder encoder) -> Status {
    for (std::size_t k = 0; k < 3; ++k) {
      const Status status = record_partition(context(), encoder,
                                             {.item_count = Count::on_host(k == 1 ? b.size() : a.size()),
                                              .input = ElementType::u32(),
                                              .first = Predicate::of("x % 3u == 0u")},
                                             {.input = (k == 1 ? b_input : a_input).view(),
                                              .output = outputs[k]->view(),
                                              .count = {counts.buffer(), counts.view().offset_bytes + 4 * k}},
                                             scan_tuning());
      if (!status) return status;
    }
    return {};
  });
  for (std::size_t k = 0; k < 3; ++k) {
    SCOPED_TRACE(k);
    std::vector<std::uint32_t> expected = k == 1 ? b : a;
    const auto rest =
        std::stable_partition(expected.begin(), expected.end(), [](std::uint32_t x) { return x % 3 == 0; });
    expect_items(items_of<std::uint32_t>(outputs[k]->read_and_check_guards()), expected);
    EXPECT_EQ(items_of<std::uint32_t>(counts.read_and_check_guards())[k],
              static_cast<std::uint32_t>(rest - expected.begin()));
  }
}

TEST_P(PartitionShapesGpu, ImpossiblePartitionsAreRefused) {
  const DeviceTraits& traits = context().traits();
  const auto refusal = [&](const PartitionShape& shape,
                           std::optional<ScanTuning> tuning = std::nullopt) -> std::string {
    const auto plan = plan_partition(shape, traits, tuning);
    if (plan) return "no error";
    EXPECT_THAT(plan.error().kind, AnyOf(ErrorKind::invalid_request, ErrorKind::unsupported));
    return plan.error().message;
  };
  const PartitionShape shape{
      .item_count = Count::on_host(100'000), .input = ElementType::u32(), .first = Predicate::of("x > 1u")};
  EXPECT_EQ(refusal(shape), "no error");
  EXPECT_NE(refusal(shape, scan_tuning(ScanPath::single_pass)), "no error") << "the rest starts where the others end";
  PartitionShape wrong = shape;
  wrong.first = {};
  EXPECT_NE(refusal(wrong), "no error") << "no predicate";
  wrong = shape;
  wrong.first = Predicate::flagged();
  wrong.second = Predicate::of("x > 1u");
  EXPECT_NE(refusal(wrong), "no error") << "flags for three parts";
  wrong = shape;
  wrong.second = Predicate::flagged();
  EXPECT_NE(refusal(wrong), "no error") << "flags for three parts";
  wrong = shape;
  wrong.item_count = Count::on_host(0xffffffffu);
  EXPECT_NE(refusal(wrong), "no error");

  const std::vector<std::uint32_t> words(100, 3);
  const GuardedBuffer all(context(), bytes_of(words));
  const GuardedBuffer count(context(), bytes_of(words));
  std::string message;
  run([&](WGPUCommandEncoder encoder) -> Status {
    PartitionShape small = shape;
    small.item_count = Count::on_host(100);
    const Status status = record_partition(
        context(), encoder, small, {.input = all.view(), .output = all.view(), .count = count.view()}, scan_tuning());
    message = status ? "no error" : status.error().message;
    return {};
  });
  EXPECT_THAT(message, HasSubstr("overlap"));
}

/// Shapes drawn at random from a few kernels.
class PartitionThoroughGpu : public PartitionGpu {};
INSTANTIATE_TEST_SUITE_P(, PartitionThoroughGpu, ::testing::Values(Profile::full, Profile::tiny_tiles), profile_name);

TEST_P(PartitionThoroughGpu, ShapesDrawnAtRandomArePartitioned) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  Random random(seed + static_cast<std::uint64_t>(GetParam()));
  for (int k = 0; k < (is_tiny() ? 60 : 20) && !HasFailure(); ++k) {
    const std::uint32_t count = 1 + random.below(random.below(2) == 0 ? 90 : affordable(10'000));
    const auto items = random_items<std::uint32_t>(count, random.next());
    Setting setting{.tuning = scan_tuning(), .input_item = random.below(70), .output_item = random.below(70)};
    if (random.below(3) == 0) setting.count = random.below(count + 5);
    PartitionShape shape{.input = ElementType::u32(), .first = Predicate::of("x % 101u < i % 103u")};
    std::vector<bool> flags;
    const std::uint32_t kind = random.below(3);
    if (kind == 1) shape.second = Predicate::of("x % 5u == 0u");
    if (kind == 2) {
      flags = reference::random_flags(count, 1 + random.below(9), random);
      setting.flags = reference::packed_flags(FlagFormat::bytes, flags, random);
      shape.first = Predicate::flagged(FlagFormat::bytes);
    }
    check(items, shape, setting, [&](std::uint32_t x, std::uint32_t i) {
      if (kind == 2) return flags[i] ? 0 : 1;
      return x % 101 < i % 103 ? 0 : kind == 1 && x % 5 == 0 ? 1 : kind == 1 ? 2 : 1;
    });
  }
}

}  // namespace
}  // namespace upsweep::testing
