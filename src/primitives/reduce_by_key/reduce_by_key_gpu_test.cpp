// SPDX-License-Identifier: Apache-2.0
// Reductions by key on a device against a loop over runs.
#include <gmock/gmock.h>

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
  std::uint64_t key_item = 0;
  std::uint64_t input_item = 0;
  std::uint64_t output_item = 0;
  std::optional<std::uint32_t> count = {};  ///< Of items, read on the device.
};

class ReduceByKeyGpu : public GpuTest {
 protected:
  /// `reduce_run(items of one run) -> Out`.
  template <typename Out, typename Key, typename T, typename IsEqual, typename ReduceRun>
  void check(const std::vector<Key>& keys, const std::vector<T>& items, ReduceByKeyShape shape, const Setting& setting,
             IsEqual is_equal, ReduceRun reduce_run) {
    SCOPED_TRACE(std::format("{} of {} {} by {}{}, path {}", to_string(shape.combine), items.size(), shape.input.name,
                             shape.key.name, setting.count ? std::format(", {} on the device", *setting.count) : "",
                             setting.tuning ? to_string(setting.tuning->path) : "of the library"));
    ASSERT_EQ(keys.size(), items.size());
    shape.item_count = {items.size(), setting.count.has_value()};
    const GuardedBuffer key_buffer(context(), bytes_of(keys), item_offset<Key>(setting.key_item));
    const GuardedBuffer input(context(), bytes_of(items), item_offset<T>(setting.input_item));
    const GuardedBuffer unique_keys(context(), bytes_of(unwritten<Key>(keys.size())), item_offset<Key>(1));
    const GuardedBuffer output(context(), bytes_of(unwritten<Out>(items.size())),
                               item_offset<Out>(setting.output_item));
    const GuardedBuffer count(context(), bytes_of(std::vector{0xdeadbeefu}), 20);
    const GuardedBuffer item_count(context(), bytes_of(std::vector{setting.count.value_or(0)}), 12);
    ReduceByKeyBuffers buffers{.keys = key_buffer.view(),
                               .input = input.view(),
                               .unique_keys = unique_keys.view(),
                               .output = output.view(),
                               .count = count.view()};
    if (setting.count) buffers.item_count = item_count.view();
    run([&](WGPUCommandEncoder encoder) {
      return record_reduce_by_key(context(), encoder, shape, buffers, setting.tuning);
    });

    auto expected_keys = unwritten<Key>(keys.size());
    auto expected = unwritten<Out>(items.size());
    std::uint32_t found = 0;
    const std::size_t used = std::min<std::size_t>(items.size(), setting.count.value_or(0xffffffffu));
    for (std::size_t begin = 0, end = 0; begin < used; begin = end) {
      end = begin + 1;
      while (end < used && is_equal(keys[end - 1], keys[end])) ++end;
      expected_keys[found] = keys[begin];
      expected[found] = reduce_run(std::span<const T>(items).subspan(begin, end - begin));
      ++found;
    }
    EXPECT_EQ(items_of<std::uint32_t>(count.read_and_check_guards()).at(0), found);
    expect_items(items_of<Key>(unique_keys.read_and_check_guards()), expected_keys);
    const auto results = items_of<Out>(output.read_and_check_guards());
    if constexpr (reference::is_float<Out>) {
      expect_items(results, expected, reference::is_equal_by_value<Out>);
    } else {
      expect_items(results, expected);
    }
  }

  /// Keys with an equality of their own, a well-known operator whose result has the items' type.
  template <typename Key, typename T>
  void check_default(const std::vector<Key>& keys, const std::vector<T>& items, const BinaryOperator& op,
                     const Setting& setting) {
    check<T>(keys, items, {.key = element_type<Key>(), .input = element_type<T>(), .combine = op}, setting,
             reference::is_equal_by_value<Key>,
             [&](std::span<const T> run_items) { return reference::reduce_to_item(op.kind, run_items); });
  }

  static void expect_near_sums(const std::vector<std::uint32_t>& keys, const std::vector<float>& items,
                               const std::vector<float>& sums) {
    std::size_t found = 0;
    for (std::size_t begin = 0, end = 0; begin < keys.size(); begin = end, ++found) {
      double exact = 0;
      double magnitude = 0;
      for (end = begin; end < keys.size() && keys[end] == keys[begin]; ++end) {
        exact += items[end];
        magnitude += std::fabs(items[end]);
      }
      ASSERT_LE(std::fabs(sums[found] - exact), std::ldexp(100, -24) * magnitude) << "run " << found;
    }
  }

  /// Records the same float sums `repeats` times, after `prepare(repeat)`: all have the same bits. Keys and input begin
  /// `input_offset` bytes into their range.
  template <typename Prepare>
  void expect_repeating_sums(std::uint32_t count, std::uint32_t repeats, std::uint64_t input_offset,
                             const std::optional<ScanTuning>& tuning, Prepare prepare) {
    Random random(test_seed());
    SCOPED_TRACE(seed_note(test_seed()));
    const auto keys = reference::random_runs<std::uint32_t>({1, 2, 3}, count, 5000, random);
    const auto items = random_items<float>(count, 1, Values::unit);
    const GuardedBuffer key_buffer(context(), bytes_of(keys), input_offset);
    const GuardedBuffer input(context(), bytes_of(items), input_offset);
    const GuardedBuffer unique_keys(context(), bytes_of(keys), 4);
    const GuardedBuffer output(context(), bytes_of(unwritten<float>(count)), 4);
    const GuardedBuffer number(context(), bytes_of(std::vector<std::uint32_t>(1)), 4);
    std::vector<std::byte> first;
    for (std::uint32_t repeat = 0; repeat < repeats; ++repeat) {
      prepare(repeat);
      run([&](WGPUCommandEncoder encoder) {
        return record_reduce_by_key(context(), encoder,
                                    {.item_count = Count::on_host(count), .determinism = Determinism::run_to_run},
                                    {.keys = key_buffer.view(),
                                     .input = input.view(),
                                     .unique_keys = unique_keys.view(),
                                     .output = output.view(),
                                     .count = number.view()},
                                    tuning);
      });
      const auto bits = output.read_and_check_guards();
      if (repeat == 0) first = bits;
      ASSERT_TRUE(bits == first) << "run " << repeat;
    }
    expect_near_sums(keys, items, items_of<float>(first));
  }

  /// Can the device take keys and values apart where there are many tiles?
  [[nodiscard]] bool takes_values_after_keys() const {
    const DeviceTraits& traits = context().traits();
    return traits.subgroups && traits.emulated_subgroup_size == 0 && traits.subgroup_min_size >= 4 &&
           traits.subgroup_min_size == traits.subgroup_max_size;
  }
  /// Do tiles fold into results what they have of a run, where an atomic operation can?
  [[nodiscard]] bool folds_into_results() const {
    return takes_values_after_keys() && context().traits().max_storage_buffers > 8;
  }
  [[nodiscard]] std::vector<ScanTuning> some_paths() const {
    std::vector<ScanTuning> tunings;
    for (const ScanPath path : some_scan_paths()) tunings.push_back(scan_tuning(path));
    return tunings;
  }
  [[nodiscard]] ScanTuning one_path() const { return scan_tuning(one_scan_path()); }
};
INSTANTIATE_TEST_SUITE_P(, ReduceByKeyGpu, all_profiles, profile_name);

TEST_P(ReduceByKeyGpu, RunsAreSummedAtEverySizeAroundAThreshold) {
  Random random(test_seed());
  SCOPED_TRACE(seed_note(test_seed()));
  const std::uint32_t most = affordable(20'000);
  const auto keys = reference::random_runs<std::uint32_t>({0, 1, 0x80000000, 0xffffffff}, most, 5, random);
  const auto words = random_items<std::uint32_t>(most, test_seed());
  for (const ScanTuning& tuning : some_paths()) {
    for (const std::uint32_t count : scan_sizes(tuning, most)) {
      check_default(std::vector<std::uint32_t>(keys.end() - count, keys.end()),
                    std::vector<std::uint32_t>(words.end() - count, words.end()), BinaryOperator::sum(),
                    {.tuning = tuning, .output_item = count % 4});
      if (HasFailure()) return;
    }
  }
}

TEST_P(ReduceByKeyGpu, KeysAndValuesOfEveryTypeWork) {
  Random random(test_seed());
  SCOPED_TRACE(seed_note(test_seed()));
  const std::uint32_t count = affordable(9000);
  const Setting setting{.tuning = one_path(), .key_item = 1, .input_item = 2, .output_item = 3};
  const auto keys = reference::random_runs<std::uint32_t>({1, 2, 3}, count, 40, random);
  check_default(reference::random_runs<float>({nan, -nan, 0.0f, -0.0f, 1}, count, 4, random),
                random_items<float>(count, 1, Values::small), BinaryOperator::sum(), setting);
  check_default(keys, random_items<float>(count, 2), BinaryOperator::min(), setting);
  struct Tagged {
    std::uint32_t id, tag;
  };
  const ElementType tagged = *ElementType::structure("Tagged", "struct Tagged {\n  id: u32,\n  tag: u32,\n}", 8, 8);
  auto records = reference::random_runs<Tagged>({{1, 0}, {2, 0}, {3, 0}}, count, 4, random);
  for (Tagged& record : records) record.tag = random.next32();
  const auto words = random_items<std::int32_t>(count, 3);
  check<std::int32_t>(
      records, words,
      {.key = tagged,
       .equality = Equality::of("a.id == b.id"),
       .input = ElementType::i32(),
       .combine = BinaryOperator::max()},
      setting, [](const Tagged& a, const Tagged& b) { return a.id == b.id; },
      [](std::span<const std::int32_t> items) { return reference::reduce_to_item(OperatorKind::max, items); });
  if (!is_thorough()) return;
  check_default(keys, random_items<std::uint64_t>(count, 4), BinaryOperator::sum(), setting);
  check_default(reference::random_runs<std::uint64_t>({1, 1ull << 32}, count, 9, random),
                random_items<std::int64_t>(count, 5), BinaryOperator::min(), setting);
  check_default(keys, random_items<Vec<float, 2>>(count, 6, Values::small), BinaryOperator::sum(), setting);
  check_default(reference::random_runs<Vec<std::uint32_t, 4>>({{1, 2, 3, 4}, {1, 2, 3, 5}}, count, 9, random),
                random_items<Vec<std::uint32_t, 4>>(count, 7), BinaryOperator::bit_xor(),
                {.tuning = scan_tuning(ScanPath::two_pass)});  // five words with the heads
  const auto truths = random_items<float>(count, 8, Values::sparse);
  check<std::uint32_t>(
      keys, truths, {.key = ElementType::u32(), .combine = BinaryOperator::logical_any()}, setting, std::equal_to<>(),
      [](std::span<const float> items) { return reference::reduce_to_word(OperatorKind::logical_any, items); });
  if (!context().traits().f16) return;
  check_default(keys, random_items<Half>(count, 9, Values::small), BinaryOperator::sum(), {.tuning = one_path()});
}

/// Shapes and ways to record that need no run in each profile.
class ReduceByKeyShapesGpu : public ReduceByKeyGpu {};
INSTANTIATE_TEST_SUITE_P(, ReduceByKeyShapesGpu, profiles_without_limits, profile_name);

TEST_P(ReduceByKeyShapesGpu, RunsMaySpanManyTiles) {
  Random random(test_seed());
  SCOPED_TRACE(seed_note(test_seed()));
  const std::uint32_t count = affordable(60'000);
  const auto words = random_items<std::uint32_t>(count, test_seed());
  auto tunings = some_paths();
  tunings.append_range(wide_tiles(4));
  for (const ScanTuning& tuning : tunings) {
    const std::uint32_t tile = 4 * tuning.workgroup_size * tuning.rows;
    for (const std::uint32_t longest : {tile - 1, tile + 1, 3 * tile, count}) {
      check_default(reference::random_runs<std::uint32_t>({1, 2, 3}, count, longest, random), words,
                    BinaryOperator::sum(), {.tuning = tuning});
    }
    check_default(std::vector<std::uint32_t>(count, 7), words, BinaryOperator::sum(), {.tuning = tuning});
    std::vector<std::uint32_t> all_differ(count);
    std::iota(all_differ.begin(), all_differ.end(), 0u);
    check_default(all_differ, words, BinaryOperator::sum(), {.tuning = tuning});
  }
}

// Sums of wrapping integers are differences of prefix sums: of i32, at sizes around tiles, with runs that end at tiles.
TEST_P(ReduceByKeyShapesGpu, SignedSumsWrap) {
  Random random(test_seed());
  SCOPED_TRACE(seed_note(test_seed()));
  for (const ScanTuning& tuning : some_paths()) {
    const std::uint32_t tile = 4 * tuning.workgroup_size * tuning.rows;
    for (const std::uint32_t count : {tile - 1, tile, 3 * tile + 1}) {
      const auto items = random_items<std::int32_t>(count, test_seed());
      std::vector<std::uint32_t> keys(count);
      for (std::uint32_t i = 0; i < count; ++i) keys[i] = i / tile;
      check_default(keys, items, BinaryOperator::sum(), {.tuning = tuning, .key_item = 1, .input_item = 5});
      check_default(reference::random_runs<std::uint32_t>({1, 2, 3}, count, 2 * tile, random), items,
                    BinaryOperator::sum(), {.tuning = tuning, .key_item = 3, .input_item = 2});
    }
  }
}

TEST_P(ReduceByKeyShapesGpu, OperatorsNeverSeeValuesOfTwoRuns) {
  const auto wary = BinaryOperator::custom("wary",
                                           "fn wary(a: vec2u, b: vec2u) -> vec2u {\n"
                                           "  if (a.x == 0u) { return b; }\n"
                                           "  if (b.x == 0u) { return a; }\n"
                                           "  return vec2u(a.x, select(7777777u, a.y + b.y, a.x == b.x));\n"
                                           "}",
                                           "vec2u(0u)");
  for (const ScanTuning& tuning : some_paths()) {
    const std::uint32_t tile = 4 * tuning.workgroup_size * tuning.rows;
    for (const std::uint32_t count : {2304u, 2305u, tile + 1}) {
      std::vector<std::uint32_t> keys;
      std::vector<Vec<std::uint32_t, 2>> items;
      for (std::uint32_t i = 0; i < count; ++i) {
        keys.push_back(i / 5);
        items.push_back({i / 5 + 1, 8});
      }
      check<Vec<std::uint32_t, 2>>(
          keys, items, {.input = ElementType::vec(Scalar::u32, 2), .combine = wary}, {.tuning = tuning},
          std::equal_to<>(), [](std::span<const Vec<std::uint32_t, 2>> run_items) {
            return Vec<std::uint32_t, 2>{run_items[0][0], 8 * static_cast<std::uint32_t>(run_items.size())};
          });
    }
  }
}

TEST_P(ReduceByKeyShapesGpu, CountsAreReadOnTheDevice) {
  Random random(test_seed());
  SCOPED_TRACE(seed_note(test_seed()));
  const std::uint32_t most = affordable(30'000);
  const auto keys = reference::random_runs<std::uint32_t>({3, 4, 5}, most, 4, random);
  const auto words = random_items<std::uint32_t>(most, test_seed());
  for (const ScanTuning& tuning : some_paths()) {
    for (const std::uint32_t count : {0u, 1u, 2u, 257u, most / 2, most - 1, most, most + 1, 0xffffffffu}) {
      check_default(keys, words, BinaryOperator::sum(), {.tuning = tuning, .count = count});
    }
    check_default(std::vector<std::uint32_t>{}, std::vector<std::uint32_t>{}, BinaryOperator::sum(),
                  {.tuning = tuning});
  }
}

TEST_P(ReduceByKeyShapesGpu, ImpossibleRequestsAreRefused) {
  const auto refusal = [&](const ReduceByKeyShape& shape) -> std::string {
    const auto plan = plan_reduce_by_key(shape, context().traits());
    if (plan) return "no error";
    EXPECT_THAT(plan.error().kind, AnyOf(ErrorKind::invalid_request, ErrorKind::unsupported));
    return plan.error().message;
  };
  EXPECT_NE(refusal({.item_count = Count::on_host(10), .key = MinMax::type()}), "no error")
      << "structs have no equality of their own";
  EXPECT_NE(refusal({.item_count = Count::on_host(0xffffffffu)}), "no error");
  EXPECT_FALSE(plan_reduce_by_key({.item_count = Count::on_host(100'000), .input = ElementType::vec(Scalar::u32, 4)},
                                  context().traits(), scan_tuning(ScanPath::single_pass))
                   .has_value())
      << "values and heads have five words";
  const std::vector<std::uint32_t> words(100, 3);
  const GuardedBuffer all(context(), bytes_of(words));
  const GuardedBuffer other(context(), bytes_of(words));
  const GuardedBuffer third(context(), bytes_of(words));
  std::string message;
  run([&](WGPUCommandEncoder encoder) -> Status {
    const Status status = record_reduce_by_key(context(), encoder, {.item_count = Count::on_host(100)},
                                               {.keys = all.view(),
                                                .input = other.view(),
                                                .unique_keys = all.view(),
                                                .output = third.view(),
                                                .count = other.view()},
                                               scan_tuning());
    message = status ? "no error" : status.error().message;
    return {};
  });
  EXPECT_THAT(message, HasSubstr("overlap"));
  EXPECT_EQ(items_of<std::uint32_t>(all.read_and_check_guards()), words);
}

/// What two profiles try: structs, repeated runs, tiles that stall, shapes drawn at random.
class ReduceByKeyThoroughGpu : public ReduceByKeyGpu {};
INSTANTIATE_TEST_SUITE_P(, ReduceByKeyThoroughGpu, ::testing::Values(Profile::full, Profile::tiny_tiles), profile_name);

TEST_P(ReduceByKeyThoroughGpu, OperatorsThatDoNotCommuteSeeEachRunInOrder) {
  Random random(test_seed());
  SCOPED_TRACE(seed_note(test_seed()));
  const std::uint32_t count = affordable(20'000);
  const auto fold = []<typename T>(std::span<const T> items) {
    return reference::fold(T::identity(), items, std::multiplies<>());
  };
  std::vector<Affine> maps;
  for (std::uint32_t i = 0; i < count; ++i) maps.push_back(Affine::item(i));
  ScanTuning two_pass = scan_tuning(ScanPath::two_pass);
  // Structs are scanned in workgroup memory, which compiles slowly for large workgroups.
  two_pass.workgroup_size = std::min(two_pass.workgroup_size, 64u);
  for (const std::uint32_t longest : {3u, 700u}) {
    const auto keys = reference::random_runs<std::uint32_t>({1, 2, 3}, count, longest, random);
    check<Affine>(keys, maps, {.input = Affine::type(), .combine = Affine::combine()}, {.tuning = two_pass},
                  std::equal_to<>(), fold);
  }
  // The same maps as vectors: their records fit into atomic words.
  using Map = Vec<std::uint32_t, 2>;
  const auto then = BinaryOperator::custom(
      "then", "fn then(a: vec2u, b: vec2u) -> vec2u { return vec2u(b.x * a.x, b.x * a.y + b.y); }", "vec2u(1u, 0u)");
  const auto keys = reference::random_runs<std::uint32_t>({1, 2, 3}, count, 300, random);
  check<Map>(keys, items_of<Map>(bytes_of(maps)), {.input = ElementType::vec(Scalar::u32, 2), .combine = then},
             {.tuning = scan_tuning(ScanPath::single_pass)}, std::equal_to<>(), [&](std::span<const Map> items) {
               Affine total = Affine::identity();
               for (const Map& map : items) total = total * Affine{map[0], map[1]};
               return Map{total.scale, total.shift};
             });
  std::vector<Tally<5>> records;
  for (std::uint32_t i = 0; i < std::min(count, 5000u); ++i) records.push_back(Tally<5>::item(random));
  check<Tally<5>>(std::vector(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(records.size())), records,
                  {.input = Tally<5>::type(), .combine = Tally<5>::combine()}, {.tuning = two_pass}, std::equal_to<>(),
                  fold);
}

// Of many tiles keys come first, then values, then the runs that cross tiles.
TEST_P(ReduceByKeyThoroughGpu, RunsOfManyTilesAreAddedUp) {
  Random random(test_seed());
  SCOPED_TRACE(seed_note(test_seed()));
  using Words = std::vector<std::uint32_t>;
  ScanTuning tuning{.workgroup_size = 32, .rows = 8};
  const std::uint32_t tile = 4 * tuning.workgroup_size * tuning.rows;
  const std::uint32_t tiles = takes_values_after_keys() ? 290 : 12;
  const std::uint32_t count = tiles * tile + 77;
  const auto words = random_items<std::uint32_t>(count, test_seed());
  Words by_tile(count);
  Words all_differ(count);
  for (std::uint32_t i = 0; i < count; ++i) by_tile[i] = (i + 1) / tile;
  std::iota(all_differ.begin(), all_differ.end(), 0u);
  const auto signed_words = random_items<std::int32_t>(count, test_seed());
  const auto product = BinaryOperator::product();
  const auto sum = BinaryOperator::sum();
  for (const ScanPath path : some_scan_paths()) {
    tuning.path = path;
    const auto last_kernel = [&](const BinaryOperator& op) {
      const auto plan =
          plan_reduce_by_key({.item_count = Count::on_host(count), .input = ElementType::u32(), .combine = op},
                             context().traits(), tuning);
      return plan ? plan->dispatches.back().kernel->name : plan.error().message;
    };
    EXPECT_EQ(last_kernel(product) == "reduce_by_key_carries", takes_values_after_keys());
    EXPECT_EQ(last_kernel(sum) == "reduce_by_key_values", folds_into_results());
    for (const std::uint32_t longest : {3u, 2 * tile, 9 * tile}) {
      const auto keys = reference::random_runs<std::uint32_t>({1, 2, 3}, count, longest, random);
      check_default(keys, words, product, {.tuning = tuning, .key_item = 1, .input_item = 5, .output_item = 2});
    }
    // More runs than are staged at a time, in some pieces or in all.
    for (const std::uint32_t longest : {1u, 2u, 4 * tile}) {
      const auto keys = reference::random_runs<std::uint32_t>({1, 2, 3, 4}, count, longest, random);
      check_default(keys, words, sum, {.tuning = tuning, .key_item = 2, .input_item = 2, .output_item = 1});
    }
    Words dense_in_part = by_tile;
    for (std::uint32_t i = 0; i < count; ++i) {
      if (i % (2 * tile) > tile / 3 && i % (2 * tile) < tile) dense_in_part[i] = 0x80000000 + i;
    }
    check_default(dense_in_part, words, sum, {.tuning = tuning});
    check_default(dense_in_part, words, product, {.tuning = tuning, .count = count - 400});
    check_default(Words(count, 7), words, product, {.tuning = tuning});
    check_default(by_tile, words, product, {.tuning = tuning, .key_item = 3, .input_item = 3});
    check_default(all_differ, words, product, {.tuning = tuning});
    for (const std::uint32_t used : {0u, 1u, tile, tiles / 2 * tile, count - 1}) {
      check_default(by_tile, words, product, {.tuning = tuning, .count = used});
    }
    // Parts of a run meet in its result.
    for (const BinaryOperator& op : {sum, BinaryOperator::min(), BinaryOperator::max(), BinaryOperator::bit_and(),
                                     BinaryOperator::bit_or(), BinaryOperator::bit_xor()}) {
      const auto keys = reference::random_runs<std::uint32_t>({1, 2, 3}, count, 3 * tile, random);
      check_default(keys, words, op, {.tuning = tuning, .output_item = 3});
      check_default(keys, signed_words, op, {.tuning = tuning, .key_item = 1, .input_item = 1});
      check_default(by_tile, signed_words, op, {.tuning = tuning, .count = tiles / 2 * tile});
    }
    check_default(Words(count, 7), words, sum, {.tuning = tuning});
    check_default(Words(count, 7), words, sum, {.tuning = tuning, .count = 0});
    const auto floats = random_items<float>(count, 3);
    check_default(reference::random_runs<float>({nan, -nan, 0.0f, -0.0f, 1}, count, 40, random), floats,
                  BinaryOperator::min(), {.tuning = tuning});
    // Maps x -> scale x + shift modulo 2^16, which do not commute.
    const auto then = BinaryOperator::custom("then",
                                             "fn then(a: u32, b: u32) -> u32 {\n"
                                             "  let scale = (b & 0xffffu) * (a & 0xffffu);\n"
                                             "  let shift = (b & 0xffffu) * (a >> 16u) + (b >> 16u);\n"
                                             "  return (scale & 0xffffu) | (shift << 16u);\n}",
                                             "1u");
    const auto keys = reference::random_runs<std::uint32_t>({1, 2, 3}, count, 5 * tile, random);
    check<std::uint32_t>(keys, words, {.input = ElementType::u32(), .combine = then}, {.tuning = tuning},
                         std::equal_to<>(), [](std::span<const std::uint32_t> items) {
                           std::uint32_t total = 1;
                           for (const std::uint32_t item : items) {
                             const std::uint32_t scale = (item & 0xffff) * (total & 0xffff);
                             total = (scale & 0xffff) | (((item & 0xffff) * (total >> 16) + (item >> 16)) << 16);
                           }
                           return total;
                         });
    if (HasFailure()) return;
  }
}

// What is left over for a last window may be less than a vector.
TEST_P(ReduceByKeyThoroughGpu, LastWindowsMayBeginAnywhereInAVector) {
  DeviceTraits traits = context().traits();
  traits.offset_alignment = 256;
  for (const ScanPath path : some_scan_paths()) {
    for (const std::uint32_t rest : {1u, 2u, 3u, 15u, 16u}) {
      const std::uint32_t count = 64 * 60 + rest;
      traits.max_binding_bytes = 4 * (count - rest) + 256;
      context().override_traits(traits);
      std::vector<std::uint32_t> keys(count);
      for (std::uint32_t i = 0; i < count; ++i) keys[i] = i / 3;
      const auto words = random_items<std::uint32_t>(count, rest);
      for (const std::uint64_t item : {0u, 1u, 2u}) {
        check_default(keys, words, BinaryOperator::sum(),
                      {.tuning = ScanTuning{.path = path, .workgroup_size = 8, .rows = 8},
                       .key_item = item,
                       .input_item = item + 4});
      }
    }
  }
}

TEST_P(ReduceByKeyThoroughGpu, FloatSumsRepeatWhereAskedFor) {
  expect_repeating_sums(affordable(60'000), 20, 4, scan_tuning(), [](std::uint32_t) {});
}

// A single pass does where only counts look back, whatever tiles wait for.
TEST_P(ReduceByKeyThoroughGpu, FloatSumsOfManyTilesRepeat) {
  const std::uint32_t count = (takes_values_after_keys() ? 300 : 20) * 1024 + 5;
  DeviceTraits traits = context().traits();
  expect_repeating_sums(count, 4, 0, ScanTuning{.workgroup_size = 32, .rows = 8}, [&](std::uint32_t repeat) {
    traits.test_hidden_chunks = repeat;
    traits.test_shuffled_tiles = repeat == 2;
    context().override_traits(traits);
  });
}

TEST_P(ReduceByKeyThoroughGpu, TilesThatNeverPublishChangeNothing) {
  Random random(test_seed());
  const std::uint32_t count = affordable(30'000);
  const auto keys = reference::random_runs<std::uint32_t>({3, 4, 5}, count, 900, random);
  const auto words = random_items<std::uint32_t>(count, test_seed());
  DeviceTraits traits = context().traits();
  traits.test_hidden_chunks = 2;
  traits.test_shuffled_tiles = true;
  context().override_traits(traits);
  for (int k = 0; k < 20 && !HasFailure(); ++k) {
    check_default(keys, words, BinaryOperator::sum(), {.tuning = scan_tuning(ScanPath::single_pass)});
  }
}

TEST_P(ReduceByKeyThoroughGpu, ShapesDrawnAtRandomAreRight) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  Random random(seed + static_cast<std::uint64_t>(GetParam()));
  for (int k = 0; k < (is_tiny() ? 60 : 20) && !HasFailure(); ++k) {
    const std::uint32_t count = 1 + random.below(random.below(2) == 0 ? 90 : affordable(10'000));
    Setting setting{
        .tuning = scan_tuning(is_tiny() && random.below(2) == 0 ? ScanPath::two_pass : ScanPath::single_pass),
        .key_item = random.below(70),
        .input_item = random.below(70),
        .output_item = random.below(70)};
    if (random.below(3) == 0) setting.count = random.below(count + 5);
    const std::uint32_t longest = 1 + random.below(random.below(2) == 0 ? 3 : 3000);
    const auto keys = reference::random_runs<std::uint32_t>({0, 1, 2}, count, longest, random);
    if (random.below(2) == 0) {
      check_default(keys, random_items<std::uint32_t>(count, random.next()), BinaryOperator::sum(), setting);
    } else {
      check_default(keys, random_items<float>(count, random.next()), BinaryOperator::min(), setting);
    }
  }
}

}  // namespace
}  // namespace upsweep::testing
