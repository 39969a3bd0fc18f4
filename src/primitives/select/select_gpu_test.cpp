// SPDX-License-Identifier: Apache-2.0
// Selections on a device against std::copy_if. Outputs have room for all items; what lies behind the last one that
// passed must keep its bytes.
#include <gmock/gmock.h>

#include <algorithm>
#include <format>
#include <functional>
#include <limits>
#include <numeric>

#include "plan/grid.h"
#include "primitives/scan/scan_reference.h"
#include "testing/generators.h"
#include "testing/gpu_test.h"
#include "testing/operators_for_tests.h"
#include "upsweep/select.h"

namespace upsweep::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr std::uint32_t unwritten_word = 0x4d4d4d4d;

/// How one selection of a test runs, beside its shape.
struct Setting {
  std::optional<ScanTuning> tuning = {};
  std::uint64_t input_item = 0;
  std::uint64_t output_item = 0;
  std::vector<std::byte> flags = {};
  std::optional<std::uint32_t> count = {};  ///< Of items, read on the device.
};

template <typename T>
struct Selected {
  std::vector<T> items;
  std::vector<std::uint32_t> indices;
  std::uint32_t count = 0;
  std::vector<std::uint32_t> dispatch;
};

class SelectGpu : public GpuTest {
 protected:
  template <typename T>
  Selected<T> select(const std::vector<T>& items, SelectShape shape, const Setting& setting) {
    shape.item_count = {items.size(), setting.count.has_value()};
    const GuardedBuffer input(context(), bytes_of(items), item_offset<T>(setting.input_item));
    const GuardedBuffer output(context(), bytes_of(unwritten<T>(items.size())), item_offset<T>(setting.output_item));
    const GuardedBuffer indices(context(), bytes_of(unwritten<std::uint32_t>(items.size())), 8);
    const GuardedBuffer count(context(), bytes_of(unwritten<std::uint32_t>(1)), 20);
    const GuardedBuffer flags(context(), setting.flags, 4);
    const GuardedBuffer item_count(context(), bytes_of(std::vector{setting.count.value_or(0)}), 12);
    const GuardedBuffer dispatch(context(), bytes_of(unwritten<std::uint32_t>(3)), 4);
    SelectBuffers buffers{.input = input.view(), .count = count.view()};
    if (shape.write_items) buffers.output = output.view();
    if (shape.write_indices) buffers.indices = indices.view();
    if (!setting.flags.empty()) buffers.flags = flags.view();
    if (setting.count) buffers.item_count = item_count.view();
    if (shape.dispatch_threads) buffers.dispatch_arguments = dispatch.view();
    run([&](WGPUCommandEncoder encoder) { return record_select(context(), encoder, shape, buffers, setting.tuning); });
    return {.items = items_of<T>(output.read_and_check_guards()),
            .indices = items_of<std::uint32_t>(indices.read_and_check_guards()),
            .count = items_of<std::uint32_t>(count.read_and_check_guards()).at(0),
            .dispatch = items_of<std::uint32_t>(dispatch.read_and_check_guards())};
  }

  /// What a selection of the first `used` items must leave: `passes(item, index)`.
  template <typename T, typename Passes>
  static Selected<T> expected(const std::vector<T>& items, const SelectShape& shape, std::size_t used, Passes passes) {
    Selected<T> result{.items = unwritten<T>(items.size()), .indices = unwritten<std::uint32_t>(items.size())};
    for (std::uint32_t i = 0; i < used; ++i) {
      if (!passes(items[i], i)) continue;
      if (shape.write_items) result.items[result.count] = items[i];
      if (shape.write_indices) result.indices[result.count] = i;
      ++result.count;
    }
    return result;
  }

  template <typename T, typename Passes>
  void check(const std::vector<T>& items, const SelectShape& shape, const Setting& setting, Passes passes) {
    SCOPED_TRACE(std::format("{} of {} {}{}, path {}", shape.predicate.expression, items.size(), shape.input.name,
                             setting.count ? std::format(", {} on the device", *setting.count) : "",
                             setting.tuning ? to_string(setting.tuning->path) : "of the library"));
    const std::size_t used = std::min<std::size_t>(items.size(), setting.count.value_or(0xffffffffu));
    const auto wanted = expected(items, shape, used, passes);
    const auto selected = select(items, shape, setting);
    EXPECT_EQ(selected.count, wanted.count);
    expect_items(selected.items, wanted.items);
    expect_items(selected.indices, wanted.indices);
  }

  [[nodiscard]] std::vector<ScanTuning> some_paths() const {
    std::vector<ScanTuning> tunings;
    for (const ScanPath path : some_scan_paths()) tunings.push_back(scan_tuning(path));
    return tunings;
  }
  [[nodiscard]] ScanTuning one_path() const { return scan_tuning(one_scan_path()); }
};
INSTANTIATE_TEST_SUITE_P(, SelectGpu, all_profiles, profile_name);

TEST_P(SelectGpu, ItemsThatPassKeepTheirOrderAtEverySizeAroundAThreshold) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const std::uint32_t most = affordable(20'000);
  const auto words = random_items<std::uint32_t>(most, seed);
  const SelectShape shape{.input = ElementType::u32(), .predicate = Predicate::of("x % 3u == 0u")};
  for (const ScanTuning& tuning : some_paths()) {
    for (const std::uint32_t count : scan_sizes(tuning, most)) {
      const std::vector<std::uint32_t> items(words.end() - count, words.end());
      check(items, shape, {.tuning = tuning, .output_item = count % 4},
            [](std::uint32_t x, std::uint32_t) { return x % 3 == 0; });
      if (HasFailure()) return;
    }
  }
}

TEST_P(SelectGpu, ItemsOfEveryTypeKeepTheirBits) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const std::uint32_t count = affordable(9000);
  const Setting setting{.tuning = one_path(), .input_item = 1, .output_item = 2};
  const Predicate third = Predicate::of("keeps(i)", "fn keeps(i: u32) -> bool { return i % 3u != 1u; }");
  const auto is_kept = [](const auto&, std::uint32_t i) { return i % 3 != 1; };
  // Words of all kinds: signalling NaN, subnormals, -0.
  const auto numbers = items_of<float>(bytes_of(random_items<std::uint32_t>(count, seed)));
  check(numbers, {.input = ElementType::f32(), .predicate = third}, setting, is_kept);
  check(random_items<std::uint64_t>(count, seed), {.input = ElementType::u64(), .predicate = third}, setting, is_kept);
  if (!is_thorough()) return;
  check(random_items<Vec<std::uint32_t, 2>>(count, seed),
        {.input = ElementType::vec(Scalar::f32, 2), .predicate = third}, setting, is_kept);
  check(random_items<Vec<std::uint32_t, 4>>(count, seed),
        {.input = ElementType::vec(Scalar::i32, 4), .predicate = third}, setting, is_kept);
  Random random(seed);
  std::vector<Tally<3>> records;
  for (std::uint32_t i = 0; i < count; ++i) records.push_back(Tally<3>::item(random));
  check(records, {.input = Tally<3>::type(), .predicate = Predicate::of("x.total % 2u == 0u")}, setting,
        [](const Tally<3>& x, std::uint32_t) { return x.total % 2 == 0; });
  std::vector<Tally<32>> large;
  for (std::uint32_t i = 0; i < std::min(count, 2000u); ++i) large.push_back(Tally<32>::item(random));
  check(large, {.input = Tally<32>::type(), .predicate = Predicate::of("x.marks[29] % 2u == 0u")}, setting,
        [](const Tally<32>& x, std::uint32_t) { return x.marks[29] % 2 == 0; });
}

/// Shapes and ways to record that need no run in each profile.
class SelectShapesGpu : public SelectGpu {};
INSTANTIATE_TEST_SUITE_P(, SelectShapesGpu, profiles_without_limits, profile_name);

TEST_P(SelectShapesGpu, AnyShareMayPass) {
  // None, all, single ones, long runs: what a tile keeps need not fit where it is gathered.
  const std::uint32_t count = affordable(40'000);
  std::vector<std::uint32_t> items(count);
  std::iota(items.begin(), items.end(), 0u);
  for (const ScanTuning& tuning : some_paths()) {
    for (const std::uint32_t bound : {0u, 1u, count / 2, count - 1, count}) {
      std::vector<std::uint32_t> turned = items;
      std::rotate(turned.begin(), turned.begin() + bound / 3, turned.end());
      for (std::uint32_t& item : turned) item = item < bound ? 1 : 0;
      check(turned, {.input = ElementType::u32(), .predicate = Predicate::of("x != 0u"), .write_indices = true},
            {.tuning = tuning, .input_item = 3}, [](std::uint32_t x, std::uint32_t) { return x != 0; });
    }
  }
}

TEST_P(SelectShapesGpu, ExpressionsMayHoldComments) {
  const std::vector<std::uint32_t> items{4, 5, 6, 7};
  for (const char* expression : {"x > 5u // large", "x > /* ; */ 5u", "x // }\n > 5u"}) {
    check(items, {.input = ElementType::u32(), .predicate = Predicate::of(expression)}, {.tuning = one_path()},
          [](std::uint32_t x, std::uint32_t) { return x > 5; });
  }
}

TEST_P(SelectShapesGpu, HalvesAreSelected) {
  if (!context().traits().f16) GTEST_SKIP() << "the device lacks the feature shader-f16";
  const auto items = random_items<Half>(affordable(9001), test_seed());
  for (const std::size_t count : {std::size_t{1}, std::size_t{2}, std::size_t{3}, items.size()}) {
    check(std::vector<Half>(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(count)),
          {.input = ElementType::f16(), .predicate = Predicate::of("x > 0.5")}, {.tuning = one_path()},
          [](Half x, std::uint32_t) { return number_of(x) > 0.5; });
  }
}

TEST_P(SelectShapesGpu, FlagsOfEveryFormatChooseItems) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  Random random(seed);
  const auto words = random_items<std::uint32_t>(affordable(20'000), seed);
  for (const FlagFormat format : {FlagFormat::words, FlagFormat::bytes, FlagFormat::bits}) {
    if (!is_thorough() && format != FlagFormat::bits) continue;
    const ScanTuning tuning = scan_tuning(format == FlagFormat::bytes ? ScanPath::two_pass : ScanPath::single_pass);
    for (const std::size_t count : {std::size_t{1}, std::size_t{31}, std::size_t{33}, std::size_t{257}, words.size()}) {
      SCOPED_TRACE(std::format("format {}", static_cast<int>(format)));
      const std::vector<std::uint32_t> items(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(count));
      const auto flags = reference::random_flags(count, 2, random);
      check(items, {.input = ElementType::u32(), .predicate = Predicate::flagged(format), .write_indices = true},
            {.tuning = tuning, .flags = reference::packed_flags(format, flags, random)},
            [&](std::uint32_t, std::uint32_t i) { return flags[i]; });
    }
  }
}

TEST_P(SelectShapesGpu, IndicesAloneAndTheCountAloneCanBeWritten) {
  const auto words = random_items<std::uint32_t>(affordable(20'000), test_seed());
  const auto is_odd = [](std::uint32_t x, std::uint32_t) { return x % 2 == 1; };
  SelectShape shape{.input = ElementType::u32(),
                    .predicate = Predicate::of("x % 2u == 1u"),
                    .write_items = false,
                    .write_indices = true};
  check(words, shape, {.tuning = one_path()}, is_odd);
  if (!is_thorough()) return;
  shape.write_indices = false;
  check(words, shape, {.tuning = one_path()}, is_odd);
}

TEST_P(SelectShapesGpu, NothingIsSelectedFromNothing) {
  const SelectShape shape{
      .input = ElementType::u32(), .predicate = Predicate::of("x == x"), .write_indices = true, .dispatch_threads = 64};
  for (const ScanTuning& tuning : some_paths()) {
    const auto none = select(std::vector<std::uint32_t>{}, shape, {.tuning = tuning});
    EXPECT_EQ(none.count, 0u);
    EXPECT_EQ(none.dispatch, (std::vector<std::uint32_t>{0, 1, 1}));
    const std::vector<std::uint32_t> items(100, 1);
    const auto counted = select(items, shape, {.tuning = tuning, .count = 0});
    EXPECT_EQ(counted.count, 0u);
    EXPECT_EQ(counted.dispatch, (std::vector<std::uint32_t>{0, 1, 1}));
    EXPECT_EQ(counted.items, std::vector(100, unwritten_word));
    EXPECT_EQ(counted.indices, std::vector(100, unwritten_word));
  }
}

TEST_P(SelectShapesGpu, CountsAreReadOnTheDevice) {
  const std::uint32_t most = affordable(30'000);
  const auto words = random_items<std::uint32_t>(most, test_seed());
  const SelectShape shape{
      .input = ElementType::u32(), .predicate = Predicate::of("x % 3u == 0u"), .write_indices = true};
  for (const ScanTuning& tuning : some_paths()) {
    for (const std::uint32_t count : {1u, 5u, 257u, most / 2, most - 1, most, most + 1, 0xffffffffu}) {
      check(words, shape, {.tuning = tuning, .count = count},
            [](std::uint32_t x, std::uint32_t) { return x % 3 == 0; });
    }
  }
}

TEST_P(SelectShapesGpu, DispatchArgumentsReachEveryItemWithinTheLimits) {
  const std::uint32_t most = affordable(20'000);
  for (const std::uint32_t limit : {30u, 65535u}) {
    DeviceTraits traits = traits_of(GetParam(), device_traits());
    traits.max_workgroups_per_dimension = limit;
    context().override_traits(traits);
    for (const std::uint32_t kept : {1u, 63u, 64u, 65u, 30 * 64u, 30 * 64u + 1, most}) {
      if (kept > most) continue;
      SCOPED_TRACE(std::format("{} items, limit {}", kept, limit));
      ScanTuning tuning = one_path();
      tuning.max_workgroups = std::min(tuning.max_workgroups, 900u);
      std::vector<std::uint32_t> items(most, 0);
      std::fill(items.end() - kept, items.end(), 1u);
      const auto selected =
          select(items, {.input = ElementType::u32(), .predicate = Predicate::of("x != 0u"), .dispatch_threads = 64},
                 {.tuning = tuning});
      EXPECT_EQ(selected.count, kept);
      DeviceTraits of_grid;
      of_grid.max_workgroups_per_dimension = limit;
      const auto grid = fold_grid(div_ceil(kept, 64), of_grid);
      ASSERT_TRUE(grid.has_value());
      EXPECT_EQ(selected.dispatch, (std::vector{grid->x, grid->y, grid->z}));
    }
  }
}

TEST_P(SelectShapesGpu, OneCommandBufferHoldsManySelections) {
  const auto a = random_items<std::uint32_t>(affordable(50'000), 1);
  const auto b = random_items<std::uint32_t>(700, 2);
  for (const ScanTuning& tuning : some_paths()) {
    SCOPED_TRACE(to_string(tuning.path));
    struct Job {
      const std::vector<std::uint32_t>& items;
      GuardedBuffer input, output, count;
    };
    std::vector<std::unique_ptr<Job>> jobs;
    for (const auto* items : {&a, &b, &a, &b}) {
      jobs.push_back(std::unique_ptr<Job>(new Job{*items,
                                                  {context(), bytes_of(*items), 4},
                                                  {context(), bytes_of(unwritten<std::uint32_t>(items->size())), 8},
                                                  {context(), bytes_of(unwritten<std::uint32_t>(1)), 4}}));
    }
    const auto shape_of = [](const Job& job) {
      return SelectShape{.item_count = Count::on_host(job.items.size()),
                         .input = ElementType::u32(),
                         .predicate = Predicate::of("x % 3u == 0u")};
    };
    run([&](WGPUCommandEncoder encoder) -> Status {
      for (const auto& job : jobs) {
        const Status status = record_select(
            context(), encoder, shape_of(*job),
            {.input = job->input.view(), .output = job->output.view(), .count = job->count.view()}, tuning);
        if (!status) return status;
      }
      return {};
    });
    for (const auto& job : jobs) {
      const auto wanted = expected(job->items, shape_of(*job), job->items.size(),
                                   [](std::uint32_t x, std::uint32_t) { return x % 3 == 0; });
      expect_items(items_of<std::uint32_t>(job->output.read_and_check_guards()), wanted.items);
      EXPECT_EQ(items_of<std::uint32_t>(job->count.read_and_check_guards()).at(0), wanted.count);
    }
  }
}

TEST_P(SelectShapesGpu, ImpossibleSelectionsAreRefused) {
  const std::vector<std::uint32_t> words(1000, 3);
  const GuardedBuffer all(context(), bytes_of(words));
  const GuardedBuffer other(context(), bytes_of(words));
  const SelectShape shape{
      .item_count = Count::on_host(100), .input = ElementType::u32(), .predicate = Predicate::of("x > 1u")};
  const auto refusal = [&](const SelectShape& wanted, const SelectBuffers& buffers) {
    std::string message;
    run([&](WGPUCommandEncoder encoder) -> Status {
      const Status status = record_select(context(), encoder, wanted, buffers, scan_tuning());
      message = status ? "no error" : status.error().message;
      return {};
    });
    EXPECT_EQ(items_of<std::uint32_t>(all.read_and_check_guards()), words);
    EXPECT_EQ(items_of<std::uint32_t>(other.read_and_check_guards()), words);
    return message;
  };
  const auto at = [&](std::uint64_t word) { return BufferView{all.buffer(), all.view().offset_bytes + 4 * word}; };
  EXPECT_THAT(refusal(shape, {.input = at(0), .output = at(0), .count = other.view()}), HasSubstr("overlap"));
  EXPECT_THAT(refusal(shape, {.input = at(0), .output = at(99), .count = other.view()}), HasSubstr("overlap"));
  EXPECT_THAT(refusal(shape, {.input = other.view(), .output = at(0), .count = at(99)}), HasSubstr("overlap"));
  EXPECT_THAT(refusal(shape, {.input = other.view(), .output = at(0)}), HasSubstr("count has no buffer"));
  const auto plan_refusal = [&](const SelectShape& wanted, const DeviceTraits& traits) -> std::string {
    const auto plan = plan_select(wanted, traits);
    if (plan) return "no error";
    EXPECT_THAT(plan.error().kind, AnyOf(ErrorKind::invalid_request, ErrorKind::unsupported));
    return plan.error().message;
  };
  SelectShape wrong = shape;
  wrong.predicate = {};
  EXPECT_NE(plan_refusal(wrong, context().traits()), "no error") << "no predicate";
  wrong = shape;
  wrong.dispatch_threads = 0;
  EXPECT_NE(plan_refusal(wrong, context().traits()), "no error");
  wrong = shape;
  wrong.item_count = Count::on_host(0xffffffffu);
  EXPECT_NE(plan_refusal(wrong, context().traits()), "no error");
  wrong = shape;
  wrong.item_count = Count::on_host(1000);
  DeviceTraits small = context().traits();
  small.max_binding_bytes = 1024;
  EXPECT_NE(plan_refusal(wrong, small), "no error") << "the output does not fit into a binding";
}

/// Traits that no profile has, put over the device's own.
class SelectInjectedGpu : public SelectGpu {};
INSTANTIATE_TEST_SUITE_P(, SelectInjectedGpu, ::testing::Values(Profile::no_subgroups, Profile::tiny_tiles),
                         profile_name);

TEST_P(SelectInjectedGpu, InputsLargerThanABindingAreReadWindowByWindow) {
  DeviceTraits traits = context().traits().with_default_limits();
  traits.max_binding_bytes = 1024;
  context().override_traits(traits);
  Random random(test_seed());
  std::vector<Tally<8>> records;
  for (std::uint32_t i = 0; i < 190; ++i) records.push_back(Tally<8>::item(random));
  for (const std::size_t count : {std::size_t{1}, std::size_t{32}, std::size_t{33}, std::size_t{190}}) {
    check(std::vector<Tally<8>>(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(count)),
          {.input = Tally<8>::type(),
           .predicate = Predicate::of("x.total % 3u != 0u"),
           .write_items = false,
           .write_indices = true},
          {.tuning = scan_tuning(ScanPath::two_pass)},
          [](const Tally<8>& x, std::uint32_t) { return x.total % 3 != 0; });
  }
  const auto flags = reference::random_flags(190, 2, random);
  check(records,
        {.input = Tally<8>::type(),
         .predicate = Predicate::flagged(FlagFormat::bits),
         .write_items = false,
         .write_indices = true},
        {.tuning = scan_tuning(ScanPath::two_pass), .flags = reference::packed_flags(FlagFormat::bits, flags, random)},
        [&](const Tally<8>&, std::uint32_t i) { return flags[i]; });
}

TEST_P(SelectInjectedGpu, TwoOrThreeWorkgroupsADimensionFoldIntoThree) {
  const auto words = random_items<std::uint32_t>(affordable(20'000), test_seed());
  for (const std::uint32_t limit : {2u, 3u}) {
    DeviceTraits traits = traits_of(GetParam(), device_traits());
    traits.max_workgroups_per_dimension = limit;
    context().override_traits(traits);
    ScanTuning tuning = scan_tuning(ScanPath::two_pass);
    tuning.max_workgroups = limit * limit * limit;
    for (const std::size_t count : {std::size_t{9}, std::size_t{100}, words.size()}) {
      check(std::vector<std::uint32_t>(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(count)),
            {.input = ElementType::u32(), .predicate = Predicate::of("x % 3u == 0u")}, {.tuning = tuning},
            [](std::uint32_t x, std::uint32_t) { return x % 3 == 0; });
    }
  }
}

TEST_P(SelectInjectedGpu, TilesThatNeverPublishChangeNothing) {
  const auto words = random_items<std::uint32_t>(affordable(20'000), test_seed());
  for (const bool is_shuffled : {false, true}) {
    DeviceTraits traits = traits_of(GetParam(), device_traits());
    traits.test_hidden_chunks = 2;
    traits.test_shuffled_tiles = is_shuffled;
    context().override_traits(traits);
    for (int k = 0; k < 20 && !HasFailure(); ++k) {
      check(words, {.input = ElementType::u32(), .predicate = Predicate::of("x % 3u == 0u")},
            {.tuning = scan_tuning(ScanPath::single_pass)}, [](std::uint32_t x, std::uint32_t) { return x % 3 == 0; });
    }
  }
}

/// Shapes drawn at random from a few kernels.
class SelectThoroughGpu : public SelectGpu {};
INSTANTIATE_TEST_SUITE_P(, SelectThoroughGpu, ::testing::Values(Profile::full, Profile::tiny_tiles), profile_name);

TEST_P(SelectThoroughGpu, ShapesDrawnAtRandomAreSelected) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  Random random(seed + static_cast<std::uint64_t>(GetParam()));
  const Predicate below = Predicate::of("x % 101u < bound(i)", "fn bound(i: u32) -> u32 { return i % 103u; }");
  for (int k = 0; k < (is_tiny() ? 60 : 20) && !HasFailure(); ++k) {
    const std::uint32_t count = 1 + random.below(random.below(2) == 0 ? 90 : affordable(10'000));
    const auto items = random_items<std::uint32_t>(count, random.next());
    Setting setting{.tuning = is_tiny() && random.below(2) == 0 ? scan_tuning(ScanPath::two_pass)
                                                                : scan_tuning(ScanPath::single_pass),
                    .input_item = random.below(70),
                    .output_item = random.below(70)};
    if (random.below(3) == 0) setting.count = random.below(count + 5);
    SelectShape shape{.input = ElementType::u32(), .predicate = below};
    std::function<bool(std::uint32_t, std::uint32_t)> passes = [](std::uint32_t x, std::uint32_t i) {
      return x % 101 < i % 103;
    };
    std::vector<bool> flags;
    if (random.below(3) == 0) {
      const auto format = is_tiny() ? static_cast<FlagFormat>(random.below(3)) : FlagFormat::bytes;
      flags = reference::random_flags(count, 1 + random.below(9), random);
      setting.flags = reference::packed_flags(format, flags, random);
      shape.predicate = Predicate::flagged(format);
      passes = [&](std::uint32_t, std::uint32_t i) { return flags[i]; };
    }
    check(items, shape, setting, passes);
  }
}

/// A chain without a readback: select, then a kernel of the caller's over what was selected.
class SelectChainGpu : public SelectGpu {};
INSTANTIATE_TEST_SUITE_P(, SelectChainGpu, ::testing::Values(Profile::full), profile_name);

struct Pipeline {
  WGPUShaderModule module = nullptr;
  WGPUComputePipeline pipeline = nullptr;
  Pipeline(WGPUDevice device, std::string_view text) {
    WGPUShaderSourceWGSL source = WGPU_SHADER_SOURCE_WGSL_INIT;
    source.code = {text.data(), text.size()};
    WGPUShaderModuleDescriptor descriptor = WGPU_SHADER_MODULE_DESCRIPTOR_INIT;
    descriptor.nextInChain = &source.chain;
    module = wgpuDeviceCreateShaderModule(device, &descriptor);
    WGPUComputePipelineDescriptor kernel = WGPU_COMPUTE_PIPELINE_DESCRIPTOR_INIT;
    kernel.compute.module = module;
    pipeline = wgpuDeviceCreateComputePipeline(device, &kernel);
  }
  ~Pipeline() {
    wgpuComputePipelineRelease(pipeline);
    wgpuShaderModuleRelease(module);
  }
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;
};

TEST_P(SelectChainGpu, AnIndirectDispatchVisitsWhatWasSelected) {
  const std::uint32_t count = 70'000;
  const auto words = random_items<std::uint32_t>(count, test_seed());
  constexpr std::string_view visit =
      "@group(0) @binding(0) var<storage, read> selected: array<u32>;\n"
      "@group(0) @binding(1) var<storage, read> count: array<u32>;\n"
      "@group(0) @binding(2) var<storage, read_write> visits: array<u32>;\n"
      "@compute @workgroup_size(64)\n"
      "fn visit(@builtin(workgroup_id) id: vec3u, @builtin(num_workgroups) grid: vec3u,\n"
      "         @builtin(local_invocation_index) index: u32) {\n"
      "  let i = ((id.z * grid.y + id.y) * grid.x + id.x) * 64u + index;\n"
      "  if (i < count[0]) { visits[selected[i]] += 1u; }\n"
      "}\n";
  const Pipeline pipeline(context().device(), visit);
  const GuardedBuffer input(context(), bytes_of(words), 0);
  const auto zeros = std::vector<std::uint32_t>(count, 0);
  for (const ScanTuning& tuning : some_paths()) {
    for (const std::uint32_t limit : {40u, 65535u}) {
      SCOPED_TRACE(std::format("{}, limit {}", to_string(tuning.path), limit));
      DeviceTraits traits = traits_of(GetParam(), device_traits());
      traits.max_workgroups_per_dimension = limit;
      context().override_traits(traits);
      const GuardedBuffer selected(context(), bytes_of(unwritten<std::uint32_t>(count)), 0);
      const GuardedBuffer number(context(), bytes_of(unwritten<std::uint32_t>(1)), 0);
      const GuardedBuffer visits(context(), bytes_of(zeros), 0);
      WGPUBufferDescriptor descriptor = WGPU_BUFFER_DESCRIPTOR_INIT;
      descriptor.usage = WGPUBufferUsage_Storage | WGPUBufferUsage_Indirect;
      descriptor.size = 12;
      const WGPUBuffer arguments = wgpuDeviceCreateBuffer(context().device(), &descriptor);
      const WGPUBindGroupLayout layout = wgpuComputePipelineGetBindGroupLayout(pipeline.pipeline, 0);
      WGPUBindGroupEntry entries[3];
      const GuardedBuffer* bound[3] = {&selected, &number, &visits};
      for (std::uint32_t i = 0; i < 3; ++i) {
        entries[i] = WGPU_BIND_GROUP_ENTRY_INIT;
        entries[i].binding = i;
        entries[i].buffer = bound[i]->buffer();
        entries[i].offset = bound[i]->view().offset_bytes;
        entries[i].size = i == 1 ? 4 : 4 * std::uint64_t{count};
      }
      WGPUBindGroupDescriptor group_descriptor = WGPU_BIND_GROUP_DESCRIPTOR_INIT;
      group_descriptor.layout = layout;
      group_descriptor.entryCount = 3;
      group_descriptor.entries = entries;
      const WGPUBindGroup group = wgpuDeviceCreateBindGroup(context().device(), &group_descriptor);
      run([&](WGPUCommandEncoder encoder) {
        const Status status = record_select(context(), encoder,
                                            {.item_count = Count::on_host(count),
                                             .input = ElementType::u32(),
                                             .predicate = Predicate::of("x % 3u == 0u"),
                                             .write_items = false,
                                             .write_indices = true,
                                             .dispatch_threads = 64},
                                            {.input = input.view(),
                                             .count = number.view(),
                                             .indices = selected.view(),
                                             .dispatch_arguments = arguments},
                                            tuning);
        const WGPUComputePassEncoder pass = wgpuCommandEncoderBeginComputePass(encoder, nullptr);
        wgpuComputePassEncoderSetPipeline(pass, pipeline.pipeline);
        wgpuComputePassEncoderSetBindGroup(pass, 0, group, 0, nullptr);
        wgpuComputePassEncoderDispatchWorkgroupsIndirect(pass, arguments, 0);
        wgpuComputePassEncoderEnd(pass);
        wgpuComputePassEncoderRelease(pass);
        return status;
      });
      std::vector<std::uint32_t> expected_visits;
      for (const std::uint32_t word : words) expected_visits.push_back(word % 3 == 0 ? 1 : 0);
      expect_items(items_of<std::uint32_t>(visits.read_and_check_guards()), expected_visits);
      wgpuBindGroupRelease(group);
      wgpuBindGroupLayoutRelease(layout);
      wgpuBufferRelease(arguments);
    }
  }
}

}  // namespace
}  // namespace upsweep::testing
