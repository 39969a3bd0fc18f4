// SPDX-License-Identifier: Apache-2.0
// Unique on a device against a loop over neighbours.
#include <gmock/gmock.h>

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

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// How one call of a test runs, beside its shape.
struct Setting {
  std::optional<ScanTuning> tuning = {};
  std::uint64_t input_item = 0;
  std::uint64_t output_item = 0;
  std::optional<std::uint32_t> count = {};  ///< Of items, read on the device.
};

class UniqueGpu : public GpuTest {
 protected:
  template <typename T, typename IsEqual>
  void check(const std::vector<T>& items, UniqueShape shape, const Setting& setting, IsEqual is_equal) {
    SCOPED_TRACE(std::format("{} {}{}, path {}", items.size(), shape.input.name,
                             setting.count ? std::format(", {} on the device", *setting.count) : "",
                             setting.tuning ? to_string(setting.tuning->path) : "of the library"));
    shape.item_count = {items.size(), setting.count.has_value()};
    const GuardedBuffer input(context(), bytes_of(items), item_offset<T>(setting.input_item));
    const GuardedBuffer output(context(), bytes_of(unwritten<T>(items.size())), item_offset<T>(setting.output_item));
    const GuardedBuffer indices(context(), bytes_of(unwritten<std::uint32_t>(items.size())), 8);
    const GuardedBuffer count(context(), bytes_of(std::vector{0xdeadbeefu}), 20);
    const GuardedBuffer item_count(context(), bytes_of(std::vector{setting.count.value_or(0)}), 12);
    UniqueBuffers buffers{.input = input.view(), .output = output.view(), .count = count.view()};
    if (shape.write_indices) buffers.indices = indices.view();
    if (setting.count) buffers.item_count = item_count.view();
    run([&](WGPUCommandEncoder encoder) { return record_unique(context(), encoder, shape, buffers, setting.tuning); });
    auto expected = unwritten<T>(items.size());
    auto expected_indices = unwritten<std::uint32_t>(items.size());
    std::uint32_t found = 0;
    for (std::uint32_t i = 0; i < std::min<std::size_t>(items.size(), setting.count.value_or(0xffffffffu)); ++i) {
      if (i > 0 && is_equal(items[i - 1], items[i])) continue;
      expected[found] = items[i];
      if (shape.write_indices) expected_indices[found] = i;
      ++found;
    }
    EXPECT_EQ(items_of<std::uint32_t>(count.read_and_check_guards()).at(0), found);
    expect_items(items_of<T>(output.read_and_check_guards()), expected);
    expect_items(items_of<std::uint32_t>(indices.read_and_check_guards()), expected_indices);
  }

  template <typename T>
  void check_default(const std::vector<T>& items, const Setting& setting, bool write_indices = false) {
    check(items, {.input = element_type<T>(), .write_indices = write_indices}, setting,
          reference::is_equal_by_value<T>);
  }

  [[nodiscard]] std::vector<ScanTuning> some_paths() const {
    std::vector<ScanTuning> tunings;
    for (const ScanPath path : some_scan_paths()) tunings.push_back(scan_tuning(path));
    return tunings;
  }
  [[nodiscard]] ScanTuning one_path() const { return scan_tuning(one_scan_path()); }
};
INSTANTIATE_TEST_SUITE_P(, UniqueGpu, all_profiles, profile_name);

TEST_P(UniqueGpu, FirstItemsOfRunsStayAtEverySizeAroundAThreshold) {
  Random random(test_seed());
  SCOPED_TRACE(seed_note(test_seed()));
  const std::uint32_t most = affordable(20'000);
  const auto words = reference::random_runs<std::uint32_t>({0, 1, 0x80000000, 0xffffffff}, most, 5, random);
  for (const ScanTuning& tuning : some_paths()) {
    for (const std::uint32_t count : scan_sizes(tuning, most)) {
      check_default(std::vector<std::uint32_t>(words.end() - count, words.end()),
                    {.tuning = tuning, .output_item = count % 4}, true);
      if (HasFailure()) return;
    }
  }
}

TEST_P(UniqueGpu, ItemsOfEveryTypeAreCompared) {
  Random random(test_seed());
  SCOPED_TRACE(seed_note(test_seed()));
  const std::uint32_t count = affordable(9000);
  const Setting setting{.tuning = one_path(), .input_item = 1, .output_item = 2};
  check_default(reference::random_runs<std::uint64_t>({1, 1ull << 32, 1ull << 32 | 1, 0}, count, 3, random), setting);
  struct Tagged {
    std::uint32_t id, tag;
  };
  const ElementType tagged = *ElementType::structure("Tagged", "struct Tagged {\n  id: u32,\n  tag: u32,\n}", 8, 8);
  auto records = reference::random_runs<Tagged>({{1, 0}, {2, 0}, {3, 0}}, count, 4, random);
  for (Tagged& record : records) record.tag = random.next32();
  check(records, {.input = tagged, .equality = Equality::of("a.id == b.id")}, setting,
        [](const Tagged& a, const Tagged& b) { return a.id == b.id; });
  if (!is_thorough()) return;
  check_default(
      reference::random_runs<Vec<float, 2>>({{1, nan}, {nan, 1}, {0.0f, -0.0f}, {-0.0f, 0.0f}}, count, 3, random),
      setting);
  check_default(
      reference::random_runs<Vec<std::uint32_t, 4>>({{1, 2, 3, 4}, {1, 2, 3, 5}, {0, 2, 3, 4}}, count, 3, random),
      setting);
  std::vector<Tally<16>> large;
  for (std::uint32_t i = 0; i < std::min(count, 3000u); ++i) {
    large.push_back(random.below(2) == 0 || large.empty() ? Tally<16>::item(random) : large.back());
  }
  check(large,
        {.input = Tally<16>::type(),
         .equality = Equality::of("same(a, b)",
                                  "fn same(a: Tally, b: Tally) -> bool {\n"
                                  "  return a.total == b.total && a.marks[13] == b.marks[13];\n"
                                  "}\n")},
        setting,
        [](const Tally<16>& a, const Tally<16>& b) { return a.total == b.total && a.marks[13] == b.marks[13]; });
  if (!context().traits().f16) return;
  check_default(reference::random_runs<Half>({half_of(nan), half_of(-nan), half_of(0), half_of(-0.0), half_of(1)},
                                             count + 1, 3, random),
                {.tuning = one_path()});
}

/// Shapes and ways to record that need no run in each profile.
class UniqueShapesGpu : public UniqueGpu {};
INSTANTIATE_TEST_SUITE_P(, UniqueShapesGpu, profiles_without_limits, profile_name);

TEST_P(UniqueShapesGpu, FloatsCompareByValueAndKeepTheBitsOfTheFirst) {
  Random random(test_seed());
  SCOPED_TRACE(seed_note(test_seed()));
  for (const ScanTuning& tuning : some_paths()) {
    const Setting setting{.tuning = tuning};
    check_default(std::vector<float>{nan}, setting);
    check_default(std::vector<float>{nan, nan}, setting);
    check_default(std::vector<float>{1, nan, -nan, std::bit_cast<float>(0x7f812345u), 1}, setting);
    check_default(std::vector<float>{0.0f, -0.0f, -0.0f}, setting);
    check_default(std::vector<float>{-0.0f, 0.0f, 1e-45f, 2e-45f, -1e-45f, 0.0f}, setting);
    check_default(reference::random_runs<float>({nan, -nan, 0.0f, -0.0f, 1e-45f, infinity, -infinity, 1},
                                                affordable(20'000), 3, random),
                  setting);
  }
}

TEST_P(UniqueShapesGpu, AnEqualityIsToldWhichItemComesFirst) {
  // Neighbours that count up are one run; each is compared with the one before, not with the run's first.
  std::vector<std::uint32_t> stairs;
  for (std::uint32_t i = 0; i < affordable(9000); ++i) stairs.push_back(i % 300 < 250 ? i : 7);
  check(stairs, {.input = ElementType::u32(), .equality = Equality::of("b == a + 1u")}, {.tuning = one_path()},
        [](std::uint32_t a, std::uint32_t b) { return b == a + 1; });
}

// What the stage has no room for goes through it group by group, each subgroup at its own pace.
TEST_P(UniqueShapesGpu, TilesMayHoldMoreRunsThanAreStagedAtATime) {
  Random random(test_seed());
  SCOPED_TRACE(seed_note(test_seed()));
  // Stretches of runs of 1 to 8 items, and of one run.
  std::vector<std::uint32_t> words(affordable(30'000));
  std::uint32_t mean = 1;
  for (std::uint32_t i = 0; i < words.size(); ++i) {
    if (random.below(300) == 0) mean = random.below(5) == 0 ? 1000 : 1 + random.below(random.below(3) == 0 ? 8 : 2);
    words[i] = i == 0 || random.below(mean) == 0 ? i * 0x9e3779b1u : words[i - 1];
  }
  std::vector<std::uint32_t> all_differ(words.size());
  std::iota(all_differ.begin(), all_differ.end(), 5u);
  ScanTuning tuning = one_path();
  // Tiles of fewer items than are staged, of so many, of more, and of groups that do not come out even.
  for (const std::uint32_t rows : is_thorough() ? std::vector{1u, 2u, 3u, 5u, 8u, 9u, 12u} : std::vector{1u, 8u}) {
    tuning.rows = rows;
    SCOPED_TRACE(to_string(tuning));
    for (const std::uint64_t first : {0u, 3u}) {
      for (const bool write_indices : {false, true}) {
        const Setting setting{.tuning = tuning, .input_item = first, .output_item = 1};
        check_default(words, setting, write_indices);
        check_default(all_differ, setting, write_indices);
      }
    }
    check_default(words, {.tuning = tuning, .count = 20'011}, true);
    if (HasFailure()) return;
  }
}

TEST_P(UniqueShapesGpu, CountsAreReadOnTheDevice) {
  Random random(test_seed());
  SCOPED_TRACE(seed_note(test_seed()));
  const std::uint32_t most = affordable(30'000);
  const auto words = reference::random_runs<std::uint32_t>({3, 4, 5}, most, 4, random);
  for (const ScanTuning& tuning : some_paths()) {
    for (const std::uint32_t count : {0u, 1u, 2u, 257u, most / 2, most - 1, most, most + 1, 0xffffffffu}) {
      check_default(words, {.tuning = tuning, .count = count}, true);
    }
    check_default(std::vector<std::uint32_t>{}, {.tuning = tuning}, true);
  }
}

TEST_P(UniqueShapesGpu, ImpossibleRequestsAreRefused) {
  const auto refusal = [&](const UniqueShape& shape) -> std::string {
    const auto plan = plan_unique(shape, context().traits());
    if (plan) return "no error";
    EXPECT_THAT(plan.error().kind, AnyOf(ErrorKind::invalid_request, ErrorKind::unsupported));
    return plan.error().message;
  };
  EXPECT_NE(refusal({.item_count = Count::on_host(10), .input = MinMax::type()}), "no error")
      << "structs have no equality of their own";
  EXPECT_NE(refusal({.item_count = Count::on_host(0xffffffffu)}), "no error");
  const std::vector<std::uint32_t> words(100, 3);
  const GuardedBuffer all(context(), bytes_of(words));
  const GuardedBuffer count(context(), bytes_of(words));
  std::string message;
  run([&](WGPUCommandEncoder encoder) -> Status {
    const Status status =
        record_unique(context(), encoder, {.item_count = Count::on_host(100)},
                      {.input = all.view(), .output = all.view(), .count = count.view()}, scan_tuning());
    message = status ? "no error" : status.error().message;
    return {};
  });
  EXPECT_THAT(message, HasSubstr("overlap"));
  EXPECT_EQ(items_of<std::uint32_t>(all.read_and_check_guards()), words);
}

/// Tiles that stall, and shapes drawn at random.
class UniqueThoroughGpu : public UniqueGpu {};
INSTANTIATE_TEST_SUITE_P(, UniqueThoroughGpu, ::testing::Values(Profile::full, Profile::tiny_tiles), profile_name);

TEST_P(UniqueThoroughGpu, TilesThatNeverPublishChangeNothing) {
  Random random(test_seed());
  const auto words = reference::random_runs<std::uint32_t>({3, 4, 5}, affordable(30'000), 4, random);
  DeviceTraits traits = context().traits();
  traits.test_hidden_chunks = 2;
  traits.test_shuffled_tiles = true;
  context().override_traits(traits);
  for (int k = 0; k < 20 && !HasFailure(); ++k) {
    check_default(words, {.tuning = scan_tuning(ScanPath::single_pass)}, true);
  }
}

TEST_P(UniqueThoroughGpu, ShapesDrawnAtRandomAreRight) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  Random random(seed + static_cast<std::uint64_t>(GetParam()));
  for (int k = 0; k < (is_tiny() ? 60 : 20) && !HasFailure(); ++k) {
    const std::uint32_t count = 1 + random.below(random.below(2) == 0 ? 90 : affordable(10'000));
    Setting setting{
        .tuning = scan_tuning(is_tiny() && random.below(2) == 0 ? ScanPath::two_pass : ScanPath::single_pass),
        .input_item = random.below(70),
        .output_item = random.below(70)};
    if (random.below(3) == 0) setting.count = random.below(count + 5);
    const std::uint32_t longest = 1 + random.below(random.below(2) == 0 ? 3 : 3000);
    if (random.below(2) == 0) {
      check_default(reference::random_runs<std::uint32_t>({0, 1, 2}, count, longest, random), setting, true);
    } else {
      check_default(reference::random_runs<float>({0.0f, -0.0f, nan, 1}, count, longest, random), setting);
    }
  }
}

}  // namespace
}  // namespace upsweep::testing
