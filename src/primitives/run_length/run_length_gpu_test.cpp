// SPDX-License-Identifier: Apache-2.0
// Run-length encoding on a device against a loop over neighbours.
#include <gmock/gmock.h>

#include <algorithm>
#include <bit>
#include <format>
#include <limits>
#include <numeric>

#include "primitives/scan/scan_reference.h"
#include "testing/generators.h"
#include "testing/gpu_test.h"
#include "testing/operators_for_tests.h"
#include "upsweep/runs.h"

namespace upsweep::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// How one call of a test runs, beside its shape.
struct Setting {
  std::optional<ScanTuning> tuning = {};
  std::uint64_t input_item = 0;
  std::uint64_t value_item = 0;
  std::optional<std::uint32_t> count = {};  ///< Of items, read on the device.
};

class RunLengthGpu : public GpuTest {
 protected:
  template <typename T, typename IsEqual>
  void check(const std::vector<T>& items, RunLengthShape shape, const Setting& setting, IsEqual is_equal) {
    SCOPED_TRACE(std::format("{} {}{}{}, path {}", items.size(), shape.input.name,
                             shape.only_repeated ? ", only repeated" : "",
                             setting.count ? std::format(", {} on the device", *setting.count) : "",
                             setting.tuning ? to_string(setting.tuning->path) : "of the library"));
    const auto none = unwritten<std::uint32_t>(items.size());
    shape.item_count = {items.size(), setting.count.has_value()};
    const GuardedBuffer input(context(), bytes_of(items), item_offset<T>(setting.input_item));
    const GuardedBuffer values(context(), bytes_of(unwritten<T>(items.size())), item_offset<T>(setting.value_item));
    const GuardedBuffer lengths(context(), bytes_of(none), 8);
    const GuardedBuffer offsets(context(), bytes_of(none), 16);
    const GuardedBuffer count(context(), bytes_of(std::vector{0xdeadbeefu}), 20);
    const GuardedBuffer item_count(context(), bytes_of(std::vector{setting.count.value_or(0)}), 12);
    RunLengthBuffers buffers{.input = input.view(), .count = count.view()};
    if (shape.write_values) buffers.values = values.view();
    if (shape.write_lengths) buffers.lengths = lengths.view();
    if (shape.write_offsets) buffers.offsets = offsets.view();
    if (setting.count) buffers.item_count = item_count.view();
    run([&](WGPUCommandEncoder encoder) {
      return record_run_length(context(), encoder, shape, buffers, setting.tuning);
    });

    auto expected_values = unwritten<T>(items.size());
    auto expected_lengths = none;
    auto expected_offsets = none;
    std::uint32_t found = 0;
    const auto used =
        static_cast<std::uint32_t>(std::min<std::size_t>(items.size(), setting.count.value_or(0xffffffffu)));
    for (std::uint32_t begin = 0, end = 0; begin < used; begin = end) {
      end = begin + 1;
      while (end < used && is_equal(items[end - 1], items[end])) ++end;
      if (shape.only_repeated && end - begin == 1) continue;
      if (shape.write_values) expected_values[found] = items[begin];
      if (shape.write_lengths) expected_lengths[found] = end - begin;
      if (shape.write_offsets) expected_offsets[found] = begin;
      ++found;
    }
    EXPECT_EQ(items_of<std::uint32_t>(count.read_and_check_guards()).at(0), found);
    expect_items(items_of<T>(values.read_and_check_guards()), expected_values);
    expect_items(items_of<std::uint32_t>(lengths.read_and_check_guards()), expected_lengths);
    expect_items(items_of<std::uint32_t>(offsets.read_and_check_guards()), expected_offsets);
  }

  template <typename T>
  void check_default(const std::vector<T>& items, RunLengthShape shape, const Setting& setting) {
    shape.input = element_type<T>();
    check(items, shape, setting, reference::is_equal_by_value<T>);
  }

  [[nodiscard]] std::vector<ScanTuning> some_paths() const {
    std::vector<ScanTuning> tunings;
    for (const ScanPath path : some_scan_paths()) tunings.push_back(scan_tuning(path));
    return tunings;
  }
  [[nodiscard]] ScanTuning one_path() const { return scan_tuning(one_scan_path()); }
};
INSTANTIATE_TEST_SUITE_P(, RunLengthGpu, all_profiles, profile_name);

TEST_P(RunLengthGpu, RunsAreCountedAtEverySizeAroundAThreshold) {
  Random random(test_seed());
  SCOPED_TRACE(seed_note(test_seed()));
  const std::uint32_t most = affordable(20'000);
  const auto words = reference::random_runs<std::uint32_t>({0, 1, 0x80000000, 0xffffffff}, most, 5, random);
  for (const ScanTuning& tuning : some_paths()) {
    for (const std::uint32_t count : scan_sizes(tuning, most)) {
      check_default(std::vector<std::uint32_t>(words.end() - count, words.end()), {.write_offsets = true},
                    {.tuning = tuning, .value_item = count % 4});
      if (HasFailure()) return;
    }
  }
}

TEST_P(RunLengthGpu, OtherTypesAndFewerOutputs) {
  Random random(test_seed());
  SCOPED_TRACE(seed_note(test_seed()));
  const std::uint32_t count = affordable(9000);
  const Setting setting{.tuning = one_path(), .input_item = 1, .value_item = 2};
  struct Tagged {
    std::uint32_t id, tag;
  };
  const ElementType tagged = *ElementType::structure("Tagged", "struct Tagged {\n  id: u32,\n  tag: u32,\n}", 8, 8);
  auto records = reference::random_runs<Tagged>({{1, 0}, {2, 0}, {3, 0}}, count, 4, random);
  for (Tagged& record : records) record.tag = random.next32();
  check(records, {.input = tagged, .equality = Equality::of("a.id == b.id")}, setting,
        [](const Tagged& a, const Tagged& b) { return a.id == b.id; });
  check_default(reference::random_runs<std::uint64_t>({1, 1ull << 32, 1ull << 32 | 1, 0}, count, 3, random),
                {.write_values = false}, setting);
  if (!is_thorough()) return;
  check_default(reference::random_runs<Vec<std::uint32_t, 4>>({{1, 2, 3, 4}, {1, 2, 3, 5}}, count, 3, random),
                {.write_lengths = false, .write_offsets = true}, setting);
  const auto words = reference::random_runs<std::uint32_t>({1, 2}, count, 3, random);
  check_default(words, {.write_lengths = false}, setting);
  check_default(words, {.write_values = false, .write_lengths = false}, setting);
  if (!context().traits().f16) return;
  check_default(
      reference::random_runs<Half>({half_of(nan), half_of(-nan), half_of(0), half_of(-0.0)}, count + 1, 3, random), {},
      {.tuning = one_path()});
}

/// Shapes and ways to record that need no run in each profile.
class RunLengthShapesGpu : public RunLengthGpu {};
INSTANTIATE_TEST_SUITE_P(, RunLengthShapesGpu, profiles_without_limits, profile_name);

TEST_P(RunLengthShapesGpu, RunsMaySpanManyTiles) {
  Random random(test_seed());
  SCOPED_TRACE(seed_note(test_seed()));
  const std::uint32_t count = affordable(60'000);
  auto tunings = some_paths();
  tunings.append_range(wide_tiles(4));
  for (const ScanTuning& tuning : tunings) {
    const std::uint32_t tile = 4 * tuning.workgroup_size * tuning.rows;
    for (const std::uint32_t longest : {tile - 1, tile + 1, 3 * tile, count}) {
      check_default(reference::random_runs<std::uint32_t>({1, 2, 3}, count, longest, random), {.write_offsets = true},
                    {.tuning = tuning});
    }
    check_default(std::vector<std::uint32_t>(count, 7), {.write_offsets = true}, {.tuning = tuning});
    std::vector<std::uint32_t> all_differ(count);
    std::iota(all_differ.begin(), all_differ.end(), 0u);
    check_default(all_differ, {.write_offsets = true}, {.tuning = tuning});
  }
}

/// More tiles than run_length_plan.cpp ends runs of in one pass.
class RunLengthManyTilesGpu : public RunLengthGpu {
 protected:
  static constexpr std::uint32_t most_tiles = 512;
  // One subgroup.
  [[nodiscard]] std::uint32_t threads() const { return std::max(8u, context().traits().subgroup_max_size); }
  [[nodiscard]] ScanTuning small_tiles(ScanPath path) const {
    ScanTuning tuning = scan_tuning(path);
    tuning.workgroup_size = threads();
    tuning.rows = 2;
    tuning.max_workgroups = 50;
    return tuning;
  }
  [[nodiscard]] std::uint32_t tile_items() const { return threads() * 2 * 4; }
};
INSTANTIATE_TEST_SUITE_P(, RunLengthManyTilesGpu, ::testing::Values(Profile::full), profile_name);

TEST_P(RunLengthManyTilesGpu, RunsThatCrossTilesAreEndedAfterwards) {
  Random random(test_seed());
  SCOPED_TRACE(seed_note(test_seed()));
  const std::uint32_t tile = tile_items();
  const std::uint32_t count = (most_tiles + 30) * tile + 77;
  for (const ScanPath path : {ScanPath::two_pass, ScanPath::single_pass}) {
    const ScanTuning tuning = small_tiles(path);
    const auto plan =
        plan_run_length({.item_count = Count::on_host(count), .input = ElementType::u32()}, context().traits(), tuning);
    ASSERT_TRUE(plan.has_value());
    if (context().traits().subgroups) {
      EXPECT_THAT(to_string(*plan), HasSubstr("run_length_ends"));
    }
    for (const std::uint32_t longest : {3u, tile - 1, tile + 1, 5 * tile, 90 * tile}) {
      SCOPED_TRACE(std::format("runs of up to {} items", longest));
      const auto words = reference::random_runs<std::uint32_t>({1, 2, 3}, count, longest, random);
      check_default(words, {.write_offsets = true}, {.tuning = tuning, .input_item = 1 + longest % 4});
      for (const std::uint32_t used : {0u, 1u, tile, 2 * tile + 5, count / 2, count - 1, count, count + 1}) {
        check_default(words, {.write_values = used % 2 == 0}, {.tuning = tuning, .count = used});
      }
    }
    for (const std::uint32_t near : {most_tiles * tile - 1, most_tiles * tile, most_tiles * tile + 1}) {
      check_default(reference::random_runs<std::uint32_t>({1, 2, 3}, near, 300, random), {}, {.tuning = tuning});
    }
    check_default(std::vector<std::uint32_t>(count, 7), {.write_offsets = true}, {.tuning = tuning});
    std::vector<std::uint32_t> all_differ(count);
    std::iota(all_differ.begin(), all_differ.end(), 0u);
    check_default(all_differ, {.write_offsets = true}, {.tuning = tuning});
    all_differ.back() = all_differ[count - 2];
    check_default(all_differ, {}, {.tuning = tuning});
  }
}

TEST_P(RunLengthManyTilesGpu, AWindowGoesOnWhereTheOneBeforeEnded) {
  Random random(test_seed());
  SCOPED_TRACE(seed_note(test_seed()));
  const std::uint32_t tile = tile_items();
  // An input that does not begin with a block of a binding may take one more; there is no room for it.
  const std::uint32_t count = (most_tiles + 30) * tile;
  DeviceTraits traits = context().traits();
  traits.max_binding_bytes = 4 * count + 12;
  for (const ScanPath path : {ScanPath::two_pass, ScanPath::single_pass}) {
    const auto plan = plan_run_length({.item_count = Count::on_host(count), .input = ElementType::u32()}, traits,
                                      small_tiles(path), {.input_bytes = 4});
    ASSERT_TRUE(plan.has_value()) << plan.error().message;
    EXPECT_THAT(to_string(*plan), HasSubstr("(window)"));
    context().override_traits(traits);
    for (const std::uint32_t longest : {3u, 400u, count}) {
      check_default(reference::random_runs<std::uint32_t>({1, 2, 3}, count, longest, random), {},
                    {.tuning = small_tiles(path), .input_item = 1});
      check_default(reference::random_runs<std::uint32_t>({1, 2, 3}, count, longest, random), {},
                    {.tuning = small_tiles(path), .input_item = 1, .count = count - 1});
    }
  }
}

TEST_P(RunLengthManyTilesGpu, TilesThatNeverPublishChangeNothing) {
  Random random(test_seed());
  const auto words = reference::random_runs<std::uint32_t>({3, 4, 5}, (most_tiles + 5) * tile_items(), 900, random);
  DeviceTraits traits = context().traits();
  traits.test_hidden_chunks = 2;
  traits.test_shuffled_tiles = true;
  context().override_traits(traits);
  for (int k = 0; k < 10 && !HasFailure(); ++k) {
    check_default(words, {.write_offsets = true}, {.tuning = small_tiles(ScanPath::single_pass)});
  }
}

TEST_P(RunLengthShapesGpu, OnlyRepeatedRunsCanBeAskedFor) {
  Random random(test_seed());
  SCOPED_TRACE(seed_note(test_seed()));
  const RunLengthShape shape{.write_offsets = true, .only_repeated = true};
  const std::uint32_t most = affordable(30'000);
  const auto words = reference::random_runs<std::uint32_t>({0, 1, 2, 3}, most, 2, random);
  for (const ScanTuning& tuning : some_paths()) {
    const Setting setting{.tuning = tuning};
    check_default(std::vector<std::uint32_t>{}, shape, setting);
    check_default(std::vector<std::uint32_t>{7}, shape, setting);
    check_default(std::vector<std::uint32_t>{7, 7}, shape, setting);
    check_default(std::vector<std::uint32_t>{7, 8, 8, 7}, shape, setting);
    for (const std::uint32_t count : {33u, 256u, 257u, 2049u, most - 1, most}) {
      if (count > most) continue;
      check_default(std::vector<std::uint32_t>(words.begin(), words.begin() + count), shape, setting);
    }
    check_default(words, shape, {.tuning = tuning, .count = most / 2 + 1});
  }
}

TEST_P(RunLengthShapesGpu, FloatsCompareByValueAndKeepTheBitsOfTheFirst) {
  const RunLengthShape shape{.write_offsets = true};
  Random random(test_seed());
  const Setting setting{.tuning = one_path()};
  check_default(std::vector<float>{nan}, shape, setting);
  check_default(std::vector<float>{nan, nan}, shape, setting);
  check_default(std::vector<float>{1, nan, -nan, 1}, shape, setting);
  check_default(std::vector<float>{0.0f, -0.0f, -0.0f}, shape, setting);
  check_default(reference::random_runs<float>({nan, -nan, 0.0f, -0.0f, 1e-45f, 2e-45f, 1}, affordable(9000), 3, random),
                shape, setting);
}

TEST_P(RunLengthShapesGpu, CountsAreReadOnTheDevice) {
  Random random(test_seed());
  SCOPED_TRACE(seed_note(test_seed()));
  const std::uint32_t most = affordable(30'000);
  const auto words = reference::random_runs<std::uint32_t>({3, 4, 5}, most, 4, random);
  for (const ScanTuning& tuning : some_paths()) {
    for (const std::uint32_t count : {0u, 1u, 2u, 257u, most / 2, most - 1, most, most + 1, 0xffffffffu}) {
      check_default(words, {.write_offsets = true}, {.tuning = tuning, .count = count});
    }
    check_default(std::vector<std::uint32_t>{}, {.write_offsets = true}, {.tuning = tuning});
  }
}

TEST_P(RunLengthShapesGpu, OneCommandBufferHoldsManyEncodings) {
  Random random(test_seed());
  const auto a = reference::random_runs<std::uint32_t>({1, 2, 3}, affordable(40'000), 7, random);
  const auto b = reference::random_runs<std::uint32_t>({1, 2, 3}, 700, 7, random);
  for (const ScanTuning& tuning : some_paths()) {
    SCOPED_TRACE(to_string(tuning.path));
    struct Job {
      const std::vector<std::uint32_t>& items;
      GuardedBuffer input, lengths, count;
    };
    std::vector<std::unique_ptr<Job>> jobs;
    for (const auto* items : {&a, &b, &a}) {
      jobs.push_back(std::unique_ptr<Job>(new Job{*items,
                                                  {context(), bytes_of(*items), 4},
                                                  {context(), bytes_of(unwritten<std::uint32_t>(items->size())), 8},
                                                  {context(), bytes_of(unwritten<std::uint32_t>(1)), 4}}));
    }
    run([&](WGPUCommandEncoder encoder) -> Status {
      for (const auto& job : jobs) {
        const Status status = record_run_length(
            context(), encoder, {.item_count = Count::on_host(job->items.size()), .write_values = false},
            {.input = job->input.view(), .lengths = job->lengths.view(), .count = job->count.view()}, tuning);
        if (!status) return status;
      }
      return {};
    });
    for (const auto& job : jobs) {
      const auto lengths = items_of<std::uint32_t>(job->lengths.read_and_check_guards());
      const auto heads = reference::run_heads(job->items, std::equal_to<>());
      const std::uint32_t count = items_of<std::uint32_t>(job->count.read_and_check_guards()).at(0);
      ASSERT_EQ(count, std::ranges::count(heads, true));
      std::size_t begin = 0;
      for (std::uint32_t k = 0; k < count; ++k) {
        ASSERT_TRUE(heads[begin]) << "run " << k;
        begin += lengths[k];
      }
      EXPECT_EQ(begin, job->items.size());
    }
  }
}

TEST_P(RunLengthShapesGpu, ImpossibleRequestsAreRefused) {
  const auto refusal = [&](const RunLengthShape& shape) -> std::string {
    const auto plan = plan_run_length(shape, context().traits());
    if (plan) return "no error";
    EXPECT_THAT(plan.error().kind, AnyOf(ErrorKind::invalid_request, ErrorKind::unsupported));
    return plan.error().message;
  };
  EXPECT_NE(refusal({.item_count = Count::on_host(10), .input = MinMax::type()}), "no error")
      << "structs have no equality of their own";
  EXPECT_NE(refusal({.item_count = Count::on_host(0xffffffffu)}), "no error");
  const std::vector<std::uint32_t> words(100, 3);
  const GuardedBuffer all(context(), bytes_of(words));
  const GuardedBuffer other(context(), bytes_of(words));
  std::string message;
  run([&](WGPUCommandEncoder encoder) -> Status {
    const Status status =
        record_run_length(context(), encoder, {.item_count = Count::on_host(100), .write_values = false},
                          {.input = all.view(), .lengths = all.view(), .count = other.view()}, scan_tuning());
    message = status ? "no error" : status.error().message;
    return {};
  });
  EXPECT_THAT(message, HasSubstr("overlap"));
  EXPECT_EQ(items_of<std::uint32_t>(all.read_and_check_guards()), words);
}

/// Tiles that stall, and shapes drawn at random.
class RunLengthThoroughGpu : public RunLengthGpu {};
INSTANTIATE_TEST_SUITE_P(, RunLengthThoroughGpu, ::testing::Values(Profile::full, Profile::tiny_tiles), profile_name);

TEST_P(RunLengthThoroughGpu, TilesThatNeverPublishChangeNothing) {
  Random random(test_seed());
  const auto words = reference::random_runs<std::uint32_t>({3, 4, 5}, affordable(30'000), 900, random);
  DeviceTraits traits = context().traits();
  traits.test_hidden_chunks = 2;
  traits.test_shuffled_tiles = true;
  context().override_traits(traits);
  for (int k = 0; k < 20 && !HasFailure(); ++k) {
    check_default(words, {.write_offsets = true}, {.tuning = scan_tuning(ScanPath::single_pass)});
  }
}

TEST_P(RunLengthThoroughGpu, ShapesDrawnAtRandomAreRight) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  Random random(seed + static_cast<std::uint64_t>(GetParam()));
  for (int k = 0; k < (is_tiny() ? 60 : 20) && !HasFailure(); ++k) {
    const std::uint32_t count = 1 + random.below(random.below(2) == 0 ? 90 : affordable(10'000));
    Setting setting{
        .tuning = scan_tuning(is_tiny() && random.below(2) == 0 ? ScanPath::two_pass : ScanPath::single_pass),
        .input_item = random.below(70),
        .value_item = random.below(70)};
    if (random.below(3) == 0) setting.count = random.below(count + 5);
    const std::uint32_t longest = 1 + random.below(random.below(2) == 0 ? 3 : 3000);
    const RunLengthShape shape{.write_offsets = true, .only_repeated = random.below(2) == 0};
    check_default(reference::random_runs<std::uint32_t>({0, 1, 2}, count, longest, random), shape, setting);
  }
}

}  // namespace
}  // namespace upsweep::testing
