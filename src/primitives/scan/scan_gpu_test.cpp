// SPDX-License-Identifier: Apache-2.0
// Scans on a device against the walks of scan_reference.h, each on both paths where both may run. Inputs and outputs
// lie between guard words, at offsets that are no multiples of 256.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <format>
#include <limits>
#include <numeric>

#include "primitives/scan/scan_reference.h"
#include "testing/generators.h"
#include "testing/gpu_test.h"
#include "testing/operators_for_tests.h"
#include "upsweep/scan.h"

namespace upsweep::testing {
namespace {

using reference::Walk;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr std::uint32_t unwritten_word = 0x4d4d4d4d;

/// Affine maps in a vec2<u32>: what Affine is as a struct.
using Map = Vec<std::uint32_t, 2>;
BinaryOperator then() {
  return BinaryOperator::custom(
      "then", "fn then(a: vec2u, b: vec2u) -> vec2u { return vec2u(b.x * a.x, b.x * a.y + b.y); }", "vec2u(1u, 0u)");
}
std::vector<Affine> affine_items(std::uint32_t count) {
  std::vector<Affine> items;
  for (std::uint32_t i = 0; i < count; ++i) items.push_back(Affine::item(i));
  return items;
}
std::vector<Map> maps_of(const std::vector<Affine>& items) { return items_of<Map>(bytes_of(items)); }

/// How one scan of a test runs, beside its shape.
struct Setting {
  ScanPath path = ScanPath::automatic;
  std::optional<ScanTuning> tuning = {};  ///< Instead of the profile's with the path.
  std::uint64_t input_item = 0;           ///< Where views begin: they are alike modulo four items if these are.
  std::uint64_t output_item = 0;
  std::vector<std::byte> heads = {};
  std::vector<std::byte> keys = {};
  std::optional<std::uint32_t> count = {};  ///< Of items or rows, read on the device.
};

template <typename Out, typename Total>
struct Scanned {
  std::vector<Out> items;
  std::vector<Total> totals;
};

class ScanGpu : public GpuTest {
 protected:
  /// Scans items that the test has at hand. The shape lacks the count, which the items and the setting say; for rows it
  /// has the largest.
  template <typename Out, typename Total = Out, typename In>
  Scanned<Out, Total> scan(const std::vector<In>& items, ScanShape shape, const Setting& setting) {
    const bool has_rows = shape.segments.kind == ScanSegments::Kind::rows;
    if (has_rows) {
      shape.segments.row_count.read_on_device = setting.count.has_value();
    } else {
      shape.item_count = {items.size(), setting.count.has_value()};
    }
    const GuardedBuffer input(context(), bytes_of(items), item_offset<In>(setting.input_item));
    const GuardedBuffer output(context(), bytes_of(unwritten<Out>(items.size())),
                               item_offset<Out>(setting.output_item));
    const GuardedBuffer total(context(), bytes_of(unwritten<Total>(has_rows ? shape.segments.row_count.max : 1)),
                              item_offset<Total>(0));
    const GuardedBuffer heads(context(), setting.heads, 4);
    const GuardedBuffer keys(context(), setting.keys, key_offset(shape));
    const GuardedBuffer count(context(), bytes_of(std::vector{setting.count.value_or(0)}), 12);
    ScanBuffers buffers{.input = input.view(), .output = shape.in_place ? input.view() : output.view()};
    if (shape.write_total) buffers.total = total.view();
    if (!setting.heads.empty()) buffers.heads = heads.view();
    if (!setting.keys.empty()) buffers.keys = keys.view();
    if (setting.count) buffers.item_count = count.view();
    run([&](WGPUCommandEncoder encoder) {
      return record_scan(context(), encoder, shape, buffers, setting.tuning.value_or(tuning_of(shape, setting.path)));
    });
    auto results = items_of<Out>((shape.in_place ? input : output).read_and_check_guards());
    results.resize(items.size());
    return {std::move(results), items_of<Total>(total.read_and_check_guards())};
  }

  /// Keys begin at a whole key.
  static std::uint64_t key_offset(const ScanShape& shape) {
    const std::uint64_t stride = std::max(shape.segments.key.stride_bytes, 4u);
    return (GuardedBuffer::guard_bytes / stride + 3) * stride - GuardedBuffer::guard_bytes;
  }

  [[nodiscard]] bool has_f16() const { return context().traits().f16; }

  static constexpr ScanPath both_paths[] = {ScanPath::two_pass, ScanPath::single_pass};
  /// The tuning of the profile, or the library's, with a path.
  [[nodiscard]] ScanTuning tuning_of(const ScanShape& shape, ScanPath path) const {
    return scan_tuning(path, select_scan_tuning(shape, context().traits()));
  }
  [[nodiscard]] static std::string note(ScanPath path, std::size_t count) {
    return std::format("{}, {} items", to_string(path), count);
  }

  template <typename T>
  static bool is_same(const T& a, const T& b) {
    return reference::is_equal_by_value(a, b);
  }
  template <typename T>
  static void expect_numbers(const std::vector<T>& actual, const std::vector<T>& expected) {
    expect_items(actual, expected, [](const T& a, const T& b) { return is_same(a, b); });
  }

  /// Sums of words at both paths' thresholds.
  void check_sizes(const ScanShape& shape, const Walk& walk, std::uint64_t output_item) {
    const std::uint64_t seed = test_seed();
    SCOPED_TRACE(seed_note(seed));
    const std::uint32_t most = affordable(66'000);
    const auto words = random_items<std::uint32_t>(most, seed);
    const std::uint32_t init = shape.init ? 5 : 0;
    for (const ScanPath path : both_paths) {
      for (const std::uint32_t count : scan_sizes(tuning_of(shape, path), most)) {
        SCOPED_TRACE(note(path, count));
        const std::vector<std::uint32_t> items(words.end() - count, words.end());
        const auto [output, totals] = scan<std::uint32_t>(items, shape, {.path = path, .output_item = output_item});
        expect_items(output, reference::scan_to_items<std::uint32_t>(OperatorKind::sum, items, walk, init));
        const std::uint32_t total = std::accumulate(items.begin(), items.end(), init);
        EXPECT_EQ(totals[0], shape.write_total ? total : unwritten_word);
        if (HasFailure()) return;
      }
    }
  }
};
INSTANTIATE_TEST_SUITE_P(, ScanGpu, all_profiles, profile_name);

TEST_P(ScanGpu, InclusiveSumsAreRightAtEverySizeAroundAThreshold) {
  check_sizes({.input = ElementType::u32(), .write_total = true}, {}, 0);
}

TEST_P(ScanGpu, ExclusiveSumsWithAnInitialValueAreRightAtEverySizeAndAtOffsetsThatDiffer) {
  check_sizes(
      {.input = ElementType::u32(), .kind = ScanKind::exclusive, .init = ConstantValue::of(5u), .write_total = true},
      {.is_exclusive = true}, 3);
}

TEST_P(ScanGpu, AutomaticPathsAreRight) {
  const std::uint32_t most = affordable(1'001'000);
  const auto words = random_items<std::uint32_t>(most, 1);
  for (const std::uint32_t count : {1u, 300u, 5000u, most}) {
    if (count > most) continue;
    SCOPED_TRACE(count);
    const std::vector<std::uint32_t> items(words.begin(), words.begin() + count);
    const auto scanned = scan<std::uint32_t>(items, {.input = ElementType::u32(), .write_total = true}, {});
    expect_items(scanned.items, reference::scan_to_items<std::uint32_t>(OperatorKind::sum, items, {}));
    EXPECT_EQ(scanned.totals[0], std::accumulate(items.begin(), items.end(), 0u));
  }
}

TEST_P(ScanGpu, AllBitsOfTheSumsArrive) {
  const std::uint32_t count = affordable(1'000'000);
  for (const ScanPath path : both_paths) {
    SCOPED_TRACE(to_string(path));
    // As large as 2^32 allows, then past it.
    for (const std::uint32_t item : {0xffffffffu / count, 0xffffffffu / count * 3}) {
      const std::vector<std::uint32_t> items(count, item);
      const auto output = scan<std::uint32_t>(items, {.input = ElementType::u32()}, {.path = path}).items;
      expect_items(output, reference::scan_to_items<std::uint32_t>(OperatorKind::sum, items, {}));
    }
  }
}

/// Shapes and ways to record that need no run in each profile.
class ScanShapesGpu : public ScanGpu {};
INSTANTIATE_TEST_SUITE_P(, ScanShapesGpu, profiles_without_limits, profile_name);

/// On software, 128 MiB more than once take their time: each path in one profile.
class ScanLargeGpu : public ScanGpu {};
INSTANTIATE_TEST_SUITE_P(, ScanLargeGpu, ::testing::Values(Profile::full, Profile::no_subgroups), profile_name);

TEST_P(ScanLargeGpu, MoreThan65535TilesOf256ItemsAreScanned) {
  const bool is_single = GetParam() == Profile::full;
  const ScanPath path = is_single ? ScanPath::single_pass : ScanPath::two_pass;
  const std::uint32_t count = (1u << 24) + 2;
  const std::vector<std::uint32_t> ones(count, 1);
  auto output = scan<std::uint32_t>(ones, {.input = ElementType::u32()}, {.path = path}).items;
  ASSERT_EQ(output.size(), count);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (output[i] == i + 1) continue;
    ADD_FAILURE() << "item " << i << " is " << output[i];
    break;
  }
}

TEST_P(ScanShapesGpu, TheInitialValueIsUsedOnceAndCarriesCrossTiles) {
  for (const ScanPath path : some_scan_paths()) {
    SCOPED_TRACE(to_string(path));
    const ScanTuning tuning = scan_tuning(path);
    const std::uint32_t tile = 4 * tuning.workgroup_size * tuning.rows;
    const std::vector<std::uint32_t> ones(3 * tile + 1, 1);
    for (const ScanKind kind : {ScanKind::inclusive, ScanKind::exclusive}) {
      if (kind == ScanKind::inclusive && !is_thorough()) continue;
      const auto scanned = scan<std::uint32_t>(
          ones, {.input = ElementType::u32(), .kind = kind, .init = ConstantValue::of(5u), .write_total = true},
          {.path = path});
      std::vector<std::uint32_t> expected(ones.size());
      std::iota(expected.begin(), expected.end(), kind == ScanKind::inclusive ? 6u : 5u);
      expect_items(scanned.items, expected);
      EXPECT_EQ(scanned.totals[0], ones.size() + 5);
    }
    if (!is_thorough()) continue;
    std::vector<std::uint32_t> sparse(1024, 0);
    sparse[511] = sparse[599] = 1;
    std::vector<std::uint32_t> expected(1024, 0);
    std::fill(expected.begin() + 512, expected.begin() + 600, 1u);
    std::fill(expected.begin() + 600, expected.end(), 2u);
    expect_items(
        scan<std::uint32_t>(sparse, {.input = ElementType::u32(), .kind = ScanKind::exclusive}, {.path = path}).items,
        expected);
  }
}

/// Types and operators, in pairs that are dealt out to the profiles: each runs with tiny tiles, some in one other
/// profile. Paths, kinds and directions alternate.
class ScanTypesGpu : public ScanGpu {
 protected:
  template <typename T>
  void check_type(std::uint32_t first_turn) {
    const std::uint64_t seed = test_seed();
    SCOPED_TRACE(seed_note(seed));
    const ElementType type = element_type<T>();
    std::uint32_t turn = first_turn;
    for (const BinaryOperator& op : well_known_operators()) {
      if (!is_defined(op.kind, type)) continue;
      ++turn;
      if (!is_mine(turn)) continue;
      const auto items = random_items<T>(affordable(20'000), seed, values_for(op.kind, type));
      if (op.kind < OperatorKind::argmin) {
        check<T, T>(op, items, turn, [](const Walk& walk, OperatorKind kind, std::span<const T> used) {
          return reference::scan_to_items<T>(kind, used, walk);
        });
      } else if constexpr (!is_vec<T>) {
        check<T, std::uint32_t>(op, items, turn, [](const Walk& walk, OperatorKind kind, std::span<const T> used) {
          return reference::scan_to_words<T>(kind, used, walk);
        });
      }
    }
  }

  template <typename T, typename Out, typename Reference>
  void check(const BinaryOperator& op, const std::vector<T>& items, std::uint32_t turn, Reference reference) {
    const bool is_indexed = op.kind == OperatorKind::argmin || op.kind == OperatorKind::argmax;
    const bool is_exclusive = turn % 3 == 0;
    const Walk walk{.is_exclusive = is_exclusive, .is_reversed = !is_indexed && turn % 5 == 0};
    const ScanPath path = turn / 2 % 2 == 0 ? ScanPath::two_pass : ScanPath::single_pass;
    const ScanShape shape{.input = element_type<T>(),
                          .combine = op,
                          .kind = is_exclusive ? ScanKind::exclusive : ScanKind::inclusive,
                          .reverse = walk.is_reversed};
    SCOPED_TRACE(std::format("{} of {}{}{}", to_string(op), shape.input.name, is_exclusive ? ", exclusive" : "",
                             walk.is_reversed ? ", reverse" : ""));
    for (const std::size_t count : {std::size_t{1}, std::size_t{601}, items.size()}) {
      SCOPED_TRACE(note(path, count));
      const std::vector<T> used(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(count));
      expect_numbers(scan<Out>(used, shape, {.path = path, .input_item = turn % 4}).items,
                     reference(walk, op.kind, used));
    }
  }

  [[nodiscard]] bool is_mine(std::uint32_t turn) const {
    switch (GetParam()) {
      case Profile::tiny_tiles: return true;
      case Profile::full: return turn % 4 == 0;
      case Profile::no_subgroups: return turn % 16 == 1;
      case Profile::minimum_limits: break;
      case Profile::emulated: return turn % 16 == 5;
    }
    return true;
  }

  static Values values_for(OperatorKind kind, const ElementType& type) {
    switch (kind) {
      case OperatorKind::sum: return type.is_float() ? Values::small : Values::any;
      case OperatorKind::product: return Values::signs;
      case OperatorKind::bit_and: return Values::dense;
      case OperatorKind::logical_any: return Values::sparse;
      case OperatorKind::logical_all: return Values::dense;
      default: return Values::any;
    }
  }
};
INSTANTIATE_TEST_SUITE_P(, ScanTypesGpu, profiles_without_limits, profile_name);

TEST_P(ScanTypesGpu, IntegersAreScannedWithEveryOperator) {
  check_type<std::uint32_t>(0);
  check_type<std::int32_t>(1);
}
TEST_P(ScanTypesGpu, FloatsAreScannedWithEveryOperator) { check_type<float>(2); }
TEST_P(ScanTypesGpu, HalvesAreScannedWithEveryOperator) {
  if (!has_f16()) GTEST_SKIP() << "the device lacks the feature shader-f16";
  check_type<Half>(3);
}
TEST_P(ScanTypesGpu, WideIntegersAreScannedWithEveryOperator) {
  check_type<std::uint64_t>(0);
  check_type<std::int64_t>(2);
}
TEST_P(ScanTypesGpu, VectorsAreScannedWithEveryOperator) {
  check_type<Vec<std::uint32_t, 2>>(0);
  check_type<Vec<std::uint32_t, 4>>(1);
  check_type<Vec<std::int32_t, 2>>(2);
  check_type<Vec<std::int32_t, 4>>(3);
  check_type<Vec<float, 2>>(1);
  check_type<Vec<float, 4>>(2);
}

TEST_P(ScanShapesGpu, ExtremaKeepInfinitiesAndPropagateNan) {
  const float tiny = std::numeric_limits<float>::denorm_min();
  const std::vector<std::vector<float>> inputs{{infinity},
                                               {-infinity},
                                               {nan},
                                               {-0.0f},
                                               {3 * tiny, 2 * tiny, 5 * tiny},
                                               {1, nan, 2},
                                               {infinity, 3, -nan},
                                               {1, 5, 5, 3},
                                               {0.0f, -0.0f},
                                               std::vector(10, infinity),
                                               std::vector(1000, -infinity)};
  const bool is_single = GetParam() == Profile::full || GetParam() == Profile::emulated;
  const ScanPath path = is_single ? ScanPath::single_pass : ScanPath::two_pass;
  for (const BinaryOperator& op : {BinaryOperator::min(), BinaryOperator::argmax()}) {
    for (const auto& input : inputs) {
      SCOPED_TRACE(std::format("{} of {} items, the first {}", to_string(op), input.size(), input[0]));
      if (op.kind == OperatorKind::argmax) {
        expect_items(scan<std::uint32_t>(input, {.combine = op}, {.path = path}).items,
                     reference::scan_to_words<float>(op.kind, input, {}));
      } else {
        expect_numbers(scan<float>(input, {.combine = op}, {.path = path}).items,
                       reference::scan_to_items<float>(op.kind, input, {}));
      }
    }
  }
}

TEST_P(ScanShapesGpu, HalvesAccumulateInF32AndAreRoundedAsTheyAreStored) {
  if (!has_f16()) GTEST_SKIP() << "the device lacks the feature shader-f16";
  std::vector<Half> items(70, half_of(1000.0));
  items.push_back(half_of(-65504.0));
  for (const ScanPath path : both_paths) {
    SCOPED_TRACE(to_string(path));
    const auto halves = scan<Half, Half>(items, {.input = ElementType::f16(), .write_total = true}, {.path = path});
    EXPECT_EQ(number_of(halves.items[64]), 64992.0);
    EXPECT_EQ(number_of(halves.items[69]), HUGE_VAL);
    EXPECT_EQ(number_of(halves.items[70]), 4496.0);
    EXPECT_EQ(number_of(halves.totals[0]), 4496.0);
    const auto floats = scan<float>(items, {.input = ElementType::f16(), .result = ElementType::f32()}, {.path = path});
    EXPECT_EQ(floats.items[69], 70000.0f);
  }
}

TEST_P(ScanShapesGpu, OperatorsThatDoNotCommuteSeeTheItemsInOrder) {
  const std::uint32_t many = affordable(70'000);
  const auto affine = affine_items(std::max(many, 1025u));
  const auto maps = maps_of(affine);
  for (const bool is_reversed : {false, true}) {
    for (const ScanPath path : both_paths) {
      if (!is_thorough() && is_reversed != (path == ScanPath::single_pass)) continue;
      for (const std::uint32_t count : {1u, 2u, 9u, 257u, 1025u, 2049u, many}) {
        if (count > maps.size()) continue;
        SCOPED_TRACE(note(path, count) + (is_reversed ? ", reverse" : ""));
        const Affine init{7, 11};
        const std::span<const Affine> used = std::span(affine).first(count);
        const Walk walk{.is_exclusive = is_reversed, .is_reversed = is_reversed};
        const auto scanned = scan<Map>(std::vector<Map>(maps.begin(), maps.begin() + count),
                                       {.input = ElementType::vec(Scalar::u32, 2),
                                        .combine = then(),
                                        .kind = is_reversed ? ScanKind::exclusive : ScanKind::inclusive,
                                        .init = ConstantValue::of(init),
                                        .reverse = is_reversed,
                                        .write_total = true},
                                       {.path = path, .output_item = count % 4});
        expect_items(scanned.items, maps_of(reference::scan(used, walk, init)));
        const std::vector<Affine> in_order = is_reversed ? std::vector<Affine>(used.rbegin(), used.rend())
                                                         : std::vector<Affine>(used.begin(), used.end());
        const Affine total = reference::fold(init, in_order, std::multiplies<>());
        EXPECT_EQ(scanned.totals[0], (Map{total.scale, total.shift}));
        if (HasFailure()) return;
      }
    }
  }
  const auto prefixes = reference::scan(std::span<const Affine>(affine).first(1025), {}, Affine::identity());
  EXPECT_EQ(prefixes[6], (Affine{2835, 1437}));
  EXPECT_EQ(prefixes[1024], (Affine{1047302641, 2407673014}));
}

TEST_P(ScanShapesGpu, NeighboursAreNeverExchanged) {
  const std::vector<std::int32_t> growing{1, 10, 100, 1000};
  for (const ScanPath path : some_scan_paths()) {
    SCOPED_TRACE(to_string(path));
    EXPECT_EQ(
        scan<std::int32_t>(growing, {.input = ElementType::i32(), .combine = growing_sum()}, {.path = path}).items,
        (std::vector<std::int32_t>{1, 11, 111, 1111}));
    // Four words a value.
    const auto matrices = random_items<Vec<std::uint32_t, 4>>(affordable(5000), 3);
    expect_items(
        scan<Vec<std::uint32_t, 4>>(
            matrices, {.input = ElementType::vec(Scalar::u32, 4), .combine = Matrix2::combine()}, {.path = path})
            .items,
        reference::scan(
            matrices, {}, Matrix2::identity(),
            [](auto& state, const auto& item) { state = Matrix2::times(state, item); },
            [](const auto& state) { return state; }));
  }
}

TEST_P(ScanShapesGpu, ReverseScansGoFromTheLastItemToTheFirst) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const std::uint32_t most = affordable(50'000);
  const auto words = random_items<std::uint32_t>(most, seed);
  for (const ScanPath path : both_paths) {
    for (const std::uint32_t count : {1u, 2u, 5u, 255u, 256u, 257u, 2049u, most}) {
      SCOPED_TRACE(note(path, count));
      const std::vector<std::uint32_t> items(words.begin(), words.begin() + count);
      const auto scanned =
          scan<std::uint32_t>(items, {.input = ElementType::u32(), .reverse = true, .write_total = true},
                              {.path = path, .input_item = count % 3, .output_item = count % 2});
      expect_items(scanned.items,
                   reference::scan_to_items<std::uint32_t>(OperatorKind::sum, items, {.is_reversed = true}));
      EXPECT_EQ(scanned.totals[0], scanned.items[0]);
      // As if the input and the output were both reversed.
      std::vector<std::uint32_t> turned(items.rbegin(), items.rend());
      std::inclusive_scan(turned.begin(), turned.end(), turned.begin());
      EXPECT_TRUE(std::ranges::equal(scanned.items, std::vector(turned.rbegin(), turned.rend())));
      if (HasFailure()) return;
    }
  }
}

/// A struct of one word.
struct Single {
  std::uint32_t word;
  static ElementType type() { return *ElementType::structure("Single", "struct Single {\n  word: u32,\n}", 4, 4); }
  static BinaryOperator combine() {
    return BinaryOperator::custom("join", "fn join(a: Single, b: Single) -> Single { return Single(a.word + b.word); }",
                                  "Single(0u)");
  }
  friend Single operator*(const Single& a, const Single& b) { return {a.word + b.word}; }
};

class ScanStructsGpu : public ScanGpu {
 protected:
  template <typename Item>
  void check_struct(const std::vector<Item>& items, const BinaryOperator& op, const Item& identity) {
    SCOPED_TRACE(std::format("{} bytes", sizeof(Item)));
    ScanTuning tuning = tuning_of({.input = struct_type<Item>(), .combine = op}, ScanPath::two_pass);
    if (GetParam() == Profile::full) tuning.workgroup_size = 64;  // in workgroup memory, too
    for (const std::size_t count : {std::size_t{1}, std::size_t{2}, std::size_t{257}, items.size()}) {
      for (const bool is_exclusive : {false, true}) {
        // Kernels of large structs compile slowly.
        if (is_exclusive && sizeof(Item) > 16) continue;
        SCOPED_TRACE(std::format("{} items{}", count, is_exclusive ? ", exclusive" : ""));
        const std::vector<Item> used(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(count));
        expect_items(scan<Item>(used,
                                {.input = struct_type<Item>(),
                                 .combine = op,
                                 .kind = is_exclusive ? ScanKind::exclusive : ScanKind::inclusive},
                                {.tuning = tuning, .input_item = count % 4, .output_item = count % 3})
                         .items,
                     reference::scan(std::span<const Item>(used), {.is_exclusive = is_exclusive}, identity));
      }
    }
  }
  template <typename Item>
  static ElementType struct_type() {
    return Item::type();
  }
  template <std::size_t Words>
  void check_tally() {
    Random random(test_seed());
    std::vector<Tally<Words>> items;
    for (std::uint32_t i = 0; i < affordable(6000); ++i) items.push_back(Tally<Words>::item(random));
    check_struct(items, Tally<Words>::combine(), Tally<Words>::identity());
  }
};
INSTANTIATE_TEST_SUITE_P(, ScanStructsGpu,
                         ::testing::Values(Profile::full, Profile::no_subgroups, Profile::minimum_limits,
                                           Profile::tiny_tiles),
                         profile_name);

TEST_P(ScanStructsGpu, StructsOf4To128BytesAreScanned) {
  SCOPED_TRACE(seed_note(test_seed()));
  // Large ones compile slowly but for tiny tiles; the largest runs where the limits are small, too.
  if (GetParam() == Profile::minimum_limits) return check_tally<32>();
  check_struct(affine_items(affordable(20'000)), Affine::combine(), Affine::identity());
  if (GetParam() == Profile::full) return check_tally<8>();
  if (!is_tiny()) return;
  check_tally<3>();
  check_tally<4>();
  check_tally<5>();
  check_tally<16>();
  check_tally<32>();
  std::vector<Single> singles;
  for (const std::uint32_t word : random_items<std::uint32_t>(affordable(9000), test_seed())) singles.push_back({word});
  check_struct(singles, Single::combine(), Single{0});
}

TEST_P(ScanStructsGpu, TransformsMakeStructsAndStoreTakesThemApart) {
  const auto numbers = random_items<float>(affordable(9000), test_seed(), Values::unit);
  const ScanShape shape{.transform = Transform::of("MinMax(x, x)"),
                        .value = MinMax::type(),
                        .combine = MinMax::combine(),
                        .store = Transform::of("x.high - x.low"),
                        .output = ElementType::f32(),
                        .write_total = true};
  const auto scanned = scan<float, MinMax>(numbers, shape, {.path = ScanPath::two_pass});
  const auto expected = reference::scan(
      numbers, {}, MinMax::identity(), [](MinMax& state, float x) { state = state * MinMax{x, x}; },
      [](const MinMax& state) { return state.high - state.low; });
  expect_numbers(scanned.items, expected);
  EXPECT_EQ(scanned.totals[0],
            reference::fold(MinMax::identity(), numbers, [](const MinMax& a, float x) { return a * MinMax{x, x}; }));
}

TEST_P(ScanShapesGpu, TransformsAreAppliedOnLoadAndOnStore) {
  const std::uint32_t count = affordable(20'000);
  const auto words = random_items<std::uint32_t>(count, test_seed());
  for (const ScanPath path : some_scan_paths()) {
    SCOPED_TRACE(to_string(path));
    // Exact 64-bit sums of words with their index; the high word of each is stored.
    const ScanShape shape{
        .input = ElementType::u32(),
        .transform = Transform::of("vec2u(x ^ i, 0u)"),
        .value = ElementType::u64(),
        .store =
            Transform::of("scramble(x, i)", "fn scramble(x: vec2u, i: u32) -> u32 { return x.y * 3u + (x.x ^ i); }"),
        .output = ElementType::u32(),
        .write_total = true};
    const auto scanned = scan<std::uint32_t, std::uint64_t>(words, shape, {.path = path, .output_item = 1});
    std::vector<std::uint32_t> expected;
    std::uint64_t total = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      total += words[i] ^ i;
      expected.push_back(static_cast<std::uint32_t>(total >> 32) * 3 + (static_cast<std::uint32_t>(total) ^ i));
    }
    expect_items(scanned.items, expected);
    EXPECT_EQ(scanned.totals[0], total);
  }
}

TEST_P(ScanShapesGpu, RowsAreScannedEachByItself) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const ScanPath path = ScanPath::two_pass;
  for (const auto& [row_count, row_length] : {std::pair{1u, 1u},
                                              {1000u, 1u},
                                              {333u, 2u},
                                              {1000u, 3u},
                                              {129u, 31u},
                                              {65u, 64u},
                                              {5u, 1000u},
                                              {9u, 5000u},
                                              {3u, affordable(20'000)},
                                              {1u, affordable(40'000)}}) {
    SCOPED_TRACE(std::format("{} rows of {}", row_count, row_length));
    const std::size_t count = std::size_t{row_count} * row_length;
    if (count > 4 * affordable(100'000)) continue;
    const ScanSegments segments = ScanSegments::rows(Count::on_host(row_count), row_length);
    const auto words = random_items<std::int32_t>(count, seed);
    const std::vector<bool> heads = reference::row_heads(count, row_length);
    for (const bool is_reversed : {false, true}) {
      // Short rows are walked as one where no totals are wanted.
      const auto sums = scan<std::int32_t>(words,
                                           {.input = ElementType::i32(),
                                            .kind = is_reversed ? ScanKind::inclusive : ScanKind::exclusive,
                                            .init = ConstantValue::of(-9),
                                            .reverse = is_reversed,
                                            .segments = segments,
                                            .write_total = !is_reversed},
                                           {.path = path, .output_item = row_length % 4});
      const Walk walk{.is_exclusive = !is_reversed, .is_reversed = is_reversed, .heads = heads};
      expect_items(sums.items, reference::scan_to_items<std::int32_t>(OperatorKind::sum, words, walk, -9));
      if (is_reversed) continue;
      std::vector<std::int32_t> totals;
      for (std::uint32_t row = 0; row < row_count; ++row) {
        const auto items = std::span(words).subspan(std::size_t{row} * row_length, row_length);
        totals.push_back(reference::reduce_to_item(OperatorKind::sum, std::span<const std::int32_t>(items)) - 9);
      }
      expect_items(sums.totals, totals);
    }
    if (!is_thorough()) continue;
    // Indices are counted in the row.
    const auto numbers = random_items<float>(count, seed);
    const ScanShape least{.combine = BinaryOperator::argmin(), .segments = segments};
    expect_items(scan<std::uint32_t>(numbers, least, {.path = path}).items,
                 reference::scan_to_words<float>(OperatorKind::argmin, numbers, {.heads = heads}));
    if (HasFailure()) return;
  }
  if (!is_tiny()) return;
  const std::uint32_t length = affordable(2500);
  const auto affine = affine_items(3 * length);
  expect_items(scan<Affine>(affine,
                            {.input = Affine::type(),
                             .combine = Affine::combine(),
                             .segments = ScanSegments::rows(Count::on_host(3), length)},
                            {.path = path})
                   .items,
               reference::scan(std::span<const Affine>(affine), {.heads = reference::row_heads(3 * length, length)},
                               Affine::identity()));
}

TEST_P(ScanShapesGpu, RowsOfNoItemsWriteTheirTotals) {
  const auto totals = scan<std::uint32_t>(std::vector<std::uint32_t>{},
                                          {.input = ElementType::u32(),
                                           .init = ConstantValue::of(5u),
                                           .segments = ScanSegments::rows(Count::on_host(70), 0),
                                           .write_total = true},
                                          {.path = ScanPath::two_pass})
                          .totals;
  EXPECT_EQ(totals, std::vector(70, 5u));
}

TEST_P(ScanShapesGpu, HeadFlagsOfEveryFormatStartTheScanAnew) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  Random random(seed);
  const std::uint32_t most = affordable(30'000);
  const auto words = random_items<std::uint32_t>(most, seed);
  struct Form {
    FlagFormat format;
    ScanPath path;
    bool is_exclusive, is_reversed;
  };
  for (const auto& [format, path, is_exclusive, is_reversed] :
       {Form{FlagFormat::words, ScanPath::two_pass, false, false},
        {FlagFormat::words, ScanPath::single_pass, true, true},
        {FlagFormat::bytes, ScanPath::single_pass, true, false},
        {FlagFormat::bits, ScanPath::two_pass, false, true}}) {
    if (!is_tiny() && format == FlagFormat::words) continue;
    for (const std::uint32_t count : {1u, 2u, 31u, 33u, 257u, 2049u, most}) {
      for (const std::uint32_t period : {1u, 3u, 300u, 0xffffffffu}) {
        SCOPED_TRACE(std::format("format {}, {}, a head in {}{}{}", static_cast<int>(format), note(path, count), period,
                                 is_exclusive ? ", exclusive" : "", is_reversed ? ", reverse" : ""));
        const std::vector<std::uint32_t> items(words.begin(), words.begin() + count);
        const std::vector<bool> heads = reference::random_flags(count, period, random);
        const auto scanned = scan<std::uint32_t>(
            items,
            {.input = ElementType::u32(),
             .kind = is_exclusive ? ScanKind::exclusive : ScanKind::inclusive,
             .init = ConstantValue::of(5u),
             .reverse = is_reversed,
             .segments = ScanSegments::flags(format)},
            {.path = path, .output_item = period % 4, .heads = reference::packed_flags(format, heads, random)});
        // Reversed, the segments are the same, each from its last item on.
        const Walk walk{.is_exclusive = is_exclusive, .is_reversed = is_reversed, .heads = heads};
        expect_items(scanned.items, reference::scan_to_items<std::uint32_t>(OperatorKind::sum, items, walk, 5u));
        if (HasFailure()) return;
      }
    }
  }
  if (!is_tiny()) return;  // structs are scanned in workgroup memory, which compiles slowly
  // In order, and structs.
  const auto affine = affine_items(affordable(9000));
  const std::vector<bool> heads = reference::random_flags(affine.size(), 700, random);
  expect_items(
      scan<Affine>(
          affine,
          {.input = Affine::type(), .combine = Affine::combine(), .segments = ScanSegments::flags(FlagFormat::bits)},
          {.path = ScanPath::two_pass, .heads = reference::packed_flags(FlagFormat::bits, heads, random)})
          .items,
      reference::scan(std::span<const Affine>(affine), {.heads = heads}, Affine::identity()));
}

/// Scans by key.
class ScanByKeyGpu : public ScanGpu {
 protected:
  template <typename Key, typename IsEqual>
  void check_keys(const std::vector<Key>& keys, const ElementType& type, const Equality& equality, ScanPath path,
                  bool is_reversed, IsEqual is_equal) {
    SCOPED_TRACE(std::format("keys of {}, {}{}", type.name, note(path, keys.size()), is_reversed ? ", reverse" : ""));
    const auto words = random_items<std::uint32_t>(keys.size(), test_seed());
    const std::span<const std::byte> bytes = bytes_of(keys);
    const auto scanned = scan<std::uint32_t>(
        words, {.input = ElementType::u32(), .reverse = is_reversed, .segments = ScanSegments::keys(type, equality)},
        {.path = path, .keys = std::vector<std::byte>(bytes.begin(), bytes.end())});
    const Walk walk{.is_reversed = is_reversed, .heads = reference::run_heads(keys, is_equal)};
    expect_items(scanned.items, reference::scan_to_items<std::uint32_t>(OperatorKind::sum, words, walk));
  }
  template <typename Key>
  void check_default(const std::vector<Key>& keys, ScanPath path) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{70}, keys.size()}) {
      check_keys(std::vector<Key>(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(count)), element_type<Key>(),
                 {}, path, false, reference::is_equal_by_value<Key>);
    }
  }
};
INSTANTIATE_TEST_SUITE_P(, ScanByKeyGpu, profiles_without_limits, profile_name);

TEST_P(ScanByKeyGpu, RunsOfEqualKeysAreScannedEachByItself) {
  Random random(test_seed());
  SCOPED_TRACE(seed_note(test_seed()));
  const std::uint32_t count = affordable(9000);
  for (const ScanPath path : some_scan_paths()) {
    check_default(reference::random_runs<std::uint32_t>({1, 2, 0x80000001, 1}, count, 8, random), path);
  }
  check_default(reference::random_runs<float>(
                    {nan, -nan, 0.0f, -0.0f, 1.0f, infinity, std::bit_cast<float>(0x7fc12345u), 1e-45f, 2e-45f}, count,
                    8, random),
                one_scan_path());
  if (!is_thorough()) return;
  check_default(reference::random_runs<std::uint64_t>({1, 1ull << 32, 1ull << 32 | 1, 0}, count, 8, random),
                ScanPath::single_pass);
  check_default(reference::random_runs<Vec<float, 2>>({{1, nan}, {nan, 1}, {0.0f, -0.0f}, {-0.0f, 0.0f}, {1, 2}}, count,
                                                      8, random),
                one_scan_path());
  if (has_f16()) {
    check_default(reference::random_runs<Half>({half_of(nan), half_of(-nan), half_of(0), half_of(-0.0), half_of(1)},
                                               count, 8, random),
                  one_scan_path());
  }
  // Structs are compared as the caller says.
  struct Tagged {
    std::uint32_t id, tag;
  };
  const ElementType tagged = *ElementType::structure("Tagged", "struct Tagged {\n  id: u32,\n  tag: u32,\n}", 8, 8);
  auto keys = reference::random_runs<Tagged>({{1, 0}, {2, 0}, {3, 0}}, count, 8, random);
  for (Tagged& key : keys) key.tag = random.next32();
  check_keys(keys, tagged, Equality::of("a.id == b.id"), one_scan_path(), false,
             [](const Tagged& a, const Tagged& b) { return a.id == b.id; });
  // An expression that is told which key comes first.
  std::vector<std::uint32_t> stairs;
  for (std::uint32_t i = 0; i < count; ++i) stairs.push_back(i % 100 < 60 ? i : 7);
  const Equality follows = Equality::of("follows(a, b)", "fn follows(a: u32, b: u32) -> bool { return b == a + 1u; }");
  for (const bool is_reversed : {false, true}) {
    check_keys(stairs, ElementType::u32(), follows, is_reversed ? one_scan_path() : ScanPath::two_pass, is_reversed,
               [](std::uint32_t a, std::uint32_t b) { return b == a + 1; });
  }
}

TEST_P(ScanByKeyGpu, OperatorsNeverSeeItemsOfTwoRuns) {
  // Each item carries its key; the operator spoils what it makes of two keys.
  const std::uint32_t count = 2305;
  std::vector<std::uint32_t> keys;
  std::vector<Vec<std::uint32_t, 2>> items;
  for (std::uint32_t i = 0; i < count; ++i) {
    keys.push_back(i / 5);
    items.push_back({i / 5 + 1, 8});
  }
  const auto wary = BinaryOperator::custom("wary",
                                           "fn wary(a: vec2u, b: vec2u) -> vec2u {\n"
                                           "  if (a.x == 0u) { return b; }\n"
                                           "  if (b.x == 0u) { return a; }\n"
                                           "  return vec2u(a.x, select(7777777u, a.y + b.y, a.x == b.x));\n"
                                           "}",
                                           "vec2u(0u)");
  const std::span<const std::byte> bytes = bytes_of(keys);
  const auto scanned = scan<Vec<std::uint32_t, 2>>(
      items,
      {.input = ElementType::vec(Scalar::u32, 2), .combine = wary, .segments = ScanSegments::keys(ElementType::u32())},
      {.path = ScanPath::two_pass, .keys = std::vector<std::byte>(bytes.begin(), bytes.end())});
  std::vector<Vec<std::uint32_t, 2>> expected;
  for (std::uint32_t i = 0; i < count; ++i) expected.push_back({i / 5 + 1, 8 * (i % 5 + 1)});
  expect_items(scanned.items, expected);
}

TEST_P(ScanShapesGpu, CountsAreReadOnTheDevice) {
  const std::uint32_t most = affordable(60'000);
  const auto words = random_items<std::uint32_t>(most, test_seed());
  for (const ScanPath path : some_scan_paths()) {
    for (const std::uint32_t count : {0u, 1u, 5u, 255u, 2049u, most / 2, most - 1, most, most + 1, 0xffffffffu}) {
      SCOPED_TRACE(std::format("{} on the device, at most {}", note(path, count), most));
      const std::uint32_t used = std::min(count, most);
      const auto scanned =
          scan<std::uint32_t>(words, {.input = ElementType::u32(), .init = ConstantValue::of(5u), .write_total = true},
                              {.path = path, .count = count});
      auto expected = unwritten<std::uint32_t>(most);
      std::ranges::copy(
          reference::scan_to_items<std::uint32_t>(OperatorKind::sum, std::span(words).first(used), {}, 5u),
          expected.begin());
      expect_items(scanned.items, expected);
      EXPECT_EQ(scanned.totals[0], std::accumulate(words.begin(), words.begin() + used, 5u));
      if (HasFailure()) return;
    }
  }
}

TEST_P(ScanShapesGpu, ReverseScansBeginAtTheCountThatTheDeviceHas) {
  const std::uint32_t most = affordable(20'000);
  const auto words = random_items<std::uint32_t>(most, test_seed());
  for (const ScanPath path : some_scan_paths()) {
    for (const std::uint32_t count : {0u, 1u, 6u, most / 2 + 1, most, most + 1}) {
      SCOPED_TRACE(note(path, count));
      const auto used = std::span(words).first(std::min(count, most));
      const auto scanned = scan<std::uint32_t>(words, {.input = ElementType::u32(), .reverse = true},
                                               {.path = path, .output_item = 2, .count = count});
      auto expected = unwritten<std::uint32_t>(most);
      std::ranges::copy(reference::scan_to_items<std::uint32_t>(OperatorKind::sum, used, {.is_reversed = true}),
                        expected.begin());
      expect_items(scanned.items, expected);
    }
  }
}

TEST_P(ScanShapesGpu, RowsAndFlagsAreCountedOnTheDeviceToo) {
  const ScanPath path = ScanPath::two_pass;
  for (const auto& [most_rows, row_length] : {std::pair{260u, 3u}, {6u, affordable(3000)}}) {
    const auto words = random_items<std::uint32_t>(std::size_t{most_rows} * row_length, test_seed());
    for (const std::uint32_t rows : {0u, 1u, most_rows - 1, most_rows, 0xffffffffu}) {
      SCOPED_TRACE(std::format("{} of {} rows of {}", rows, most_rows, row_length));
      const std::size_t used = std::size_t{std::min(rows, most_rows)} * row_length;
      const auto scanned = scan<std::uint32_t>(words,
                                               {.input = ElementType::u32(),
                                                .segments = ScanSegments::rows(Count::on_host(most_rows), row_length),
                                                .write_total = true},
                                               {.path = path, .count = rows});
      auto expected = unwritten<std::uint32_t>(words.size());
      const auto sums = reference::scan_to_items<std::uint32_t>(OperatorKind::sum, std::span(words).first(used),
                                                                {.heads = reference::row_heads(used, row_length)});
      std::ranges::copy(sums, expected.begin());
      expect_items(scanned.items, expected);
      auto totals = unwritten<std::uint32_t>(most_rows);
      for (std::size_t row = 0; row < used / row_length; ++row) totals[row] = sums[(row + 1) * row_length - 1];
      expect_items(scanned.totals, totals);
    }
  }
  if (!is_thorough()) return;
  Random random(test_seed());
  const auto words = random_items<std::uint32_t>(affordable(9000), test_seed());
  const auto heads = reference::random_flags(words.size(), 50, random);
  for (const std::uint32_t count : {0u, 77u, 0xffffffffu}) {
    const std::size_t used = std::min<std::size_t>(count, words.size());
    auto expected = unwritten<std::uint32_t>(words.size());
    std::ranges::copy(
        reference::scan_to_items<std::uint32_t>(OperatorKind::sum, std::span(words).first(used), {.heads = heads}),
        expected.begin());
    expect_items(scan<std::uint32_t>(
                     words, {.input = ElementType::u32(), .segments = ScanSegments::flags()},
                     {.path = path, .heads = reference::packed_flags(FlagFormat::words, heads, random), .count = count})
                     .items,
                 expected);
  }
}

TEST_P(ScanShapesGpu, NoItemsWriteOnlyTheTotal) {
  for (const ScanPath path : both_paths) {
    SCOPED_TRACE(to_string(path));
    const std::vector<std::uint32_t> none;
    for (const std::optional<std::uint32_t> on_device : {std::optional<std::uint32_t>(), std::optional(0u)}) {
      for (const BinaryOperator& op : {BinaryOperator::sum(), BinaryOperator::min()}) {
        if (on_device && op.kind == OperatorKind::min) continue;
        const ScanShape shape{.input = ElementType::u32(), .combine = op, .write_total = true};
        EXPECT_EQ(scan<std::uint32_t>(none, shape, {.path = path, .count = on_device}).totals[0],
                  op.kind == OperatorKind::min ? 0xffffffffu : 0u);
      }
    }
    ScanShape with_init{.input = ElementType::u32(), .init = ConstantValue::of(5u), .write_total = true};
    EXPECT_EQ(scan<std::uint32_t>(none, with_init, {.path = path}).totals[0], 5u);
    // Without a total there is nothing to do, and no dispatch of zero workgroups.
    with_init.write_total = false;
    EXPECT_EQ(scan<std::uint32_t>(none, with_init, {.path = path}).totals[0], unwritten_word);
  }
}

TEST_P(ScanShapesGpu, ScansInPlaceGiveTheSame) {
  const std::uint32_t most = affordable(60'000);
  const auto words = random_items<std::uint32_t>(most, test_seed());
  const ScanPath path = ScanPath::two_pass;
  for (const std::uint32_t count : {1u, 255u, 257u, 2049u, most}) {
    for (const bool is_reversed : {false, true}) {
      if (is_reversed && !is_thorough()) continue;
      SCOPED_TRACE(std::format("{} items{}", count, is_reversed ? ", reverse" : ""));
      const std::vector<std::uint32_t> items(words.begin(), words.begin() + count);
      const Walk walk{.is_exclusive = true, .is_reversed = is_reversed};
      const auto scanned = scan<std::uint32_t>(items,
                                               {.input = ElementType::u32(),
                                                .kind = ScanKind::exclusive,
                                                .reverse = is_reversed,
                                                .write_total = true,
                                                .in_place = true},
                                               {.path = path, .input_item = count % 4});
      expect_items(scanned.items, reference::scan_to_items<std::uint32_t>(OperatorKind::sum, items, walk));
      EXPECT_EQ(scanned.totals[0], std::accumulate(items.begin(), items.end(), 0u));
    }
  }
  if (!is_thorough()) return;
  // Other types of one stride; the library's choice of path; found out from the views.
  const auto numbers = random_items<float>(most, test_seed());
  const GuardedBuffer both(context(), bytes_of(numbers), 8);
  const ScanShape shape{.item_count = Count::on_host(most), .combine = BinaryOperator::argmax()};
  run([&](WGPUCommandEncoder encoder) {
    return record_scan(context(), encoder, shape, {.input = both.view(), .output = both.view()}, scan_tuning());
  });
  expect_items(items_of<std::uint32_t>(both.read_and_check_guards()),
               reference::scan_to_words<float>(OperatorKind::argmax, numbers, {}));
  if (!is_tiny()) return;
  const auto affine = affine_items(affordable(5000));
  expect_items(
      scan<Affine>(affine, {.input = Affine::type(), .combine = Affine::combine(), .in_place = true}, {.path = path})
          .items,
      reference::scan(std::span<const Affine>(affine), {}, Affine::identity()));
  Random random(1);
  const auto heads = reference::random_flags(most, 90, random);
  expect_items(
      scan<std::uint32_t>(words, {.input = ElementType::u32(), .segments = ScanSegments::flags(), .in_place = true},
                          {.path = path, .heads = reference::packed_flags(FlagFormat::words, heads, random)})
          .items,
      reference::scan_to_items<std::uint32_t>(OperatorKind::sum, words, {.heads = heads}));
}

TEST_P(ScanShapesGpu, ViewsBeginAtAnyItem) {
  const std::uint32_t count = affordable(9001);
  const auto words = random_items<std::uint32_t>(count, test_seed());
  const auto expected = reference::scan_to_items<std::uint32_t>(OperatorKind::sum, words, {});
  for (const ScanPath path : both_paths) {
    for (const std::uint64_t first : {0u, 1u, 2u, 3u, 30u, 62u, 63u, 64u}) {
      for (const std::uint64_t second : {first, first + 1, std::uint64_t{62}}) {
        SCOPED_TRACE(std::format("{}, first items {} and {}", to_string(path), first, second));
        const Setting setting{.path = path, .input_item = first, .output_item = second};
        expect_items(scan<std::uint32_t>(words, {.input = ElementType::u32()}, setting).items, expected);
        if (HasFailure()) return;
      }
    }
  }
  if (!has_f16()) return;
  // Halves begin at whole words.
  const auto halves = random_items<Half>(count, test_seed(), Values::small);
  for (const std::uint64_t first : {0u, 1u, 5u}) {
    for (const std::uint32_t used : {1u, 2u, count - 1, count}) {
      const std::vector<Half> items(halves.begin(), halves.begin() + used);
      const Setting setting{.path = ScanPath::two_pass, .input_item = first, .output_item = 2 * first};
      expect_numbers(scan<Half>(items, {.input = ElementType::f16()}, setting).items,
                     reference::scan_to_items<Half>(OperatorKind::sum, items, {}));
    }
  }
}

TEST_P(ScanShapesGpu, DisjointRangesOfOneBufferWork) {
  const std::uint32_t most = affordable(50'000);
  const auto words = random_items<std::uint32_t>(most, 1);
  for (const ScanPath path : some_scan_paths()) {
    for (const std::uint32_t count : {3u, 1000u, most}) {
      for (const std::uint32_t shift : {0u, 1u}) {  // ranges alike modulo four items, and not
        SCOPED_TRACE(note(path, count));
        const std::uint32_t output_first = (65 + most + 128) / 4 * 4 + 1 + shift;
        const std::uint32_t total_first = output_first + most + 128;
        std::vector<std::uint32_t> image(total_first + 1, 0x5a5a5a5a);
        std::ranges::copy(words, image.begin() + 65);
        const GuardedBuffer all(context(), bytes_of(image));
        const std::uint64_t base = all.view().offset_bytes;
        const ScanShape shape{.item_count = Count::on_host(count), .input = ElementType::u32(), .write_total = true};
        run([&](WGPUCommandEncoder encoder) {
          return record_scan(context(), encoder, shape,
                             {.input = {all.buffer(), base + 65 * 4},
                              .output = {all.buffer(), base + output_first * 4},
                              .total = {all.buffer(), base + total_first * 4}},
                             tuning_of(shape, path));
        });
        const auto sums = reference::scan_to_items<std::uint32_t>(OperatorKind::sum, std::span(words).first(count), {});
        std::ranges::copy(sums, image.begin() + output_first);
        image[total_first] = sums.back();
        expect_items(items_of<std::uint32_t>(all.read_and_check_guards()), image);
      }
    }
  }
}

TEST_P(ScanShapesGpu, RangesThatMeetAreRefusedAndNothingIsRecorded) {
  const std::vector<std::uint32_t> words(1000, 3);
  const GuardedBuffer all(context(), bytes_of(words));
  const GuardedBuffer other(context(), bytes_of(words));
  const auto at = [&](std::uint64_t word) { return BufferView{all.buffer(), all.view().offset_bytes + 4 * word}; };
  const ScanShape shape{.item_count = Count::on_host(100), .input = ElementType::u32(), .write_total = true};
  const auto refusal = [&](const ScanShape& wanted, const ScanBuffers& buffers) {
    std::string message;
    run([&](WGPUCommandEncoder encoder) -> Status {
      const Status status = record_scan(context(), encoder, wanted, buffers, scan_tuning());
      message = status ? "no error" : status.error().message;
      return {};
    });
    EXPECT_EQ(items_of<std::uint32_t>(all.read_and_check_guards()), words);
    return message;
  };
  EXPECT_THAT(refusal(shape, {.input = at(0), .output = at(99), .total = other.view()}), HasSubstr("overlap"));
  EXPECT_THAT(refusal(shape, {.input = at(1), .output = at(0), .total = other.view()}), HasSubstr("overlap"));
  EXPECT_THAT(refusal(shape, {.input = other.view(), .output = at(0), .total = at(99)}), HasSubstr("overlap"));
  EXPECT_THAT(refusal(shape, {.input = at(0), .output = at(0), .total = at(5)}), HasSubstr("overlap"));
  EXPECT_THAT(refusal(shape, {.input = other.view(), .output = {}, .total = at(0)}), HasSubstr("output has no buffer"));
  EXPECT_THAT(refusal(shape, {.input = other.view(), .output = at(0)}), HasSubstr("total has no buffer"));
  EXPECT_THAT(
      refusal(shape,
              {.input = other.view(), .output = {all.buffer(), all.view().offset_bytes, 396}, .total = other.view()}),
      AnyOf(HasSubstr("has 396 bytes; the plan needs 400"), HasSubstr("overlap")));
  EXPECT_THAT(
      refusal(shape, {.input = {other.buffer(), other.view().offset_bytes + 2}, .output = at(0), .total = at(500)}),
      HasSubstr("not a multiple of its item"));
}

TEST_P(ScanGpu, ImpossibleShapesAreRefused) {
  const DeviceTraits& traits = context().traits();
  const auto refusal = [&](const ScanShape& shape, std::optional<ScanTuning> tuning = std::nullopt) -> std::string {
    const auto plan = plan_scan(shape, traits, tuning);
    if (plan) return "no error";
    EXPECT_THAT(plan.error().kind, AnyOf(ErrorKind::invalid_request, ErrorKind::unsupported)) << plan.error().message;
    return plan.error().message;
  };
  const ScanTuning single = scan_tuning(ScanPath::single_pass);
  const ScanShape sum{.item_count = Count::on_host(100'000), .input = ElementType::u32()};
  EXPECT_EQ(refusal(sum, single), "no error");
  ScanShape shape = sum;
  shape.in_place = true;
  EXPECT_NE(refusal(shape, single), "no error");
  shape = sum;
  shape.segments = ScanSegments::flags();
  EXPECT_EQ(refusal(shape, single), "no error");
  shape.input = ElementType::vec(Scalar::u32, 4);
  EXPECT_EQ(refusal(shape, single), "no error") << "heads take no word";
  shape.write_total = true;
  EXPECT_NE(refusal(shape), "no error");
  shape = sum;
  shape.item_count = {};
  shape.segments = ScanSegments::rows(Count::on_host(10), 10'000);
  EXPECT_NE(refusal(shape, single), "no error");
  shape = sum;
  shape.input = Tally<5>::type();
  shape.combine = Tally<5>::combine();
  EXPECT_NE(refusal(shape, single), "no error");
  shape = sum;
  shape.item_count = Count::on_host(std::uint64_t{1} << 32);
  EXPECT_NE(refusal(shape), "no error");
  shape = sum;
  shape.combine = BinaryOperator::argmin();
  shape.init = ConstantValue::of(1u);
  EXPECT_NE(refusal(shape), "no error");
  shape = sum;
  shape.init = ConstantValue::of(std::uint64_t{1});
  EXPECT_NE(refusal(shape), "no error");
  shape = sum;
  shape.in_place = true;
  shape.store = Transform::of("vec2u(x, 0u)");
  shape.output = ElementType::u64();
  EXPECT_NE(refusal(shape), "no error");
  shape = sum;
  shape.input = Affine::type();
  shape.combine = Affine::combine();
  shape.segments = ScanSegments::keys(Affine::type());
  EXPECT_NE(refusal(shape), "no error") << "structs have no equality of their own";
}

TEST_P(ScanShapesGpu, OperatorsAreGivenItemsTheInitialValueAndTheirOwnResultsOnly) {
  // All items are 8: an operand is a sum of so many. What is left in scratch, state and workgroup memory by the scan
  // before is not. A thread that saw another operand spoils all that it stores.
  const auto wary = BinaryOperator::custom("wary",
                                           "var<private> foreign: u32;\n"
                                           "fn wary(a: u32, b: u32) -> u32 {\n"
                                           "  foreign |= ((a | b) & 7u) | (max(a, b) >> 15u);\n"
                                           "  return a + b;\n"
                                           "}\n",
                                           "0u");
  const auto junk = random_items<std::uint32_t>(3000, test_seed());
  const GuardedBuffer junk_buffer(context(), bytes_of(junk), 4);
  for (const ScanPath path : some_scan_paths()) {
    const ScanTuning tuning = scan_tuning(path);
    for (const std::uint32_t count : {4 * tuning.workgroup_size * tuning.rows + 1, 2304u, 2305u, 3000u}) {
      if (count > 3000) continue;
      SCOPED_TRACE(note(path, count));
      const GuardedBuffer junk_output(context(), bytes_of(junk), 4);
      run([&](WGPUCommandEncoder encoder) {
        return record_scan(context(), encoder, {.item_count = Count::on_host(3000), .input = ElementType::u32()},
                           {.input = junk_buffer.view(), .output = junk_output.view()}, tuning);
      });
      const auto scanned = scan<std::uint32_t>(std::vector(count, 8u),
                                               {.input = ElementType::u32(),
                                                .combine = wary,
                                                .store = Transform::of("x | foreign"),
                                                .output = ElementType::u32()},
                                               {.path = path});
      std::vector<std::uint32_t> expected;
      for (std::uint32_t i = 1; i <= count; ++i) expected.push_back(8 * i);
      expect_items(scanned.items, expected);
    }
  }
}

TEST_P(ScanShapesGpu, OneCommandBufferHoldsManyScansWithOtherCountsAndBuffers) {
  const std::uint32_t most = affordable(100'000);
  const auto a = random_items<std::uint32_t>(most, 1);
  const auto b = random_items<std::uint32_t>(9000, 2);
  const GuardedBuffer a_buffer(context(), bytes_of(a), 4);
  const GuardedBuffer b_buffer(context(), bytes_of(b), 4);
  struct Job {
    const std::vector<std::uint32_t>& items;
    const GuardedBuffer& input;
    std::uint32_t count;
  };
  const std::vector<Job> jobs{{a, a_buffer, most},         {b, b_buffer, 9000}, {a, a_buffer, most},
                              {a, a_buffer, most / 2 + 1}, {b, b_buffer, 10},   {a, a_buffer, most}};
  for (const ScanPath path : both_paths) {
    for (const bool in_a_pass : {false, true}) {
      SCOPED_TRACE(std::format("{}{}", to_string(path), in_a_pass ? ", in a pass of the caller's" : ""));
      std::vector<std::unique_ptr<GuardedBuffer>> outputs;
      for (const Job& job : jobs) {
        outputs.push_back(std::make_unique<GuardedBuffer>(context(), bytes_of(unwritten<std::uint32_t>(job.count)), 4));
      }
      const auto record_all = [&](RecordTarget target) -> Status {
        for (std::size_t i = 0; i < jobs.size(); ++i) {
          const Status status =
              record_scan(context(), target, {.item_count = Count::on_host(jobs[i].count), .input = ElementType::u32()},
                          {.input = jobs[i].input.view(), .output = outputs[i]->view()}, scan_tuning(path));
          if (!status) return status;
        }
        return {};
      };
      run([&](WGPUCommandEncoder encoder) -> Status {
        if (!in_a_pass) return record_all(encoder);
        const WGPUComputePassEncoder pass = wgpuCommandEncoderBeginComputePass(encoder, nullptr);
        Status status = record_all(pass);
        wgpuComputePassEncoderEnd(pass);
        wgpuComputePassEncoderRelease(pass);
        return status;
      });
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        SCOPED_TRACE(i);
        expect_items(items_of<std::uint32_t>(outputs[i]->read_and_check_guards()),
                     reference::scan_to_items<std::uint32_t>(OperatorKind::sum,
                                                             std::span(jobs[i].items).first(jobs[i].count), {}));
      }
    }
  }
}

TEST_P(ScanShapesGpu, RepeatedRecordingMakesNothingNew) {
  const std::uint32_t count = affordable(50'000);
  const std::vector<std::uint32_t> ones(count, 1);
  const GuardedBuffer input(context(), bytes_of(ones), 4);
  const GuardedBuffer output(context(), bytes_of(ones), 4);
  for (const ScanPath path : both_paths) {
    const auto record = [&] {
      run([&](WGPUCommandEncoder encoder) {
        return record_scan(context(), encoder, {.item_count = Count::on_host(count), .input = ElementType::u32()},
                           {.input = input.view(), .output = output.view()}, scan_tuning(path));
      });
    };
    record();
    const ContextStatistics before = context().statistics();
    for (int i = 0; i < 10; ++i) record();
    const ContextStatistics& after = context().statistics();
    EXPECT_EQ(after.plans_made, before.plans_made);
    EXPECT_EQ(after.pipelines_created, before.pipelines_created);
    EXPECT_EQ(after.bind_groups_created, before.bind_groups_created);
    EXPECT_EQ(after.buffers_created, before.buffers_created);
  }
}

/// Floats: how far off, and whether they repeat.
class ScanFloatsGpu : public ScanGpu {};
INSTANTIATE_TEST_SUITE_P(, ScanFloatsGpu, profiles_without_limits, profile_name);

TEST_P(ScanFloatsGpu, SumsStayWithinAFewRoundingsOfExactOnes) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const auto items = random_items<float>(affordable(300'000), seed, Values::unit);
  for (const ScanPath path : both_paths) {
    SCOPED_TRACE(to_string(path));
    const auto sums = scan<float>(items, {}, {.path = path}).items;
    double exact = 0;
    double magnitude = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
      exact += items[i];
      magnitude += std::fabs(items[i]);
      const double error = std::fabs(sums[i] - exact);
      if (error <= std::ldexp(100, -24) * magnitude) continue;
      ADD_FAILURE() << "item " << i << " is off by " << error / magnitude * 0x1p24 << " * 2^-24 * sum |x|";
      break;
    }
  }
}

TEST_P(ScanFloatsGpu, RepeatableScansGiveTheSameBitsEveryTime) {
  const std::vector<float> items(affordable(250'000), 0.1f);
  const GuardedBuffer input(context(), bytes_of(items), 4);
  const GuardedBuffer output(context(), bytes_of(items), 4);
  for (const bool is_asked_for : {true, false}) {
    std::vector<std::byte> first;
    for (int repeat = 0; repeat < (is_asked_for && GetParam() == Profile::full ? 100 : 5); ++repeat) {
      run([&](WGPUCommandEncoder encoder) {
        return record_scan(context(), encoder,
                           {.item_count = Count::on_host(items.size()),
                            .determinism = is_asked_for ? Determinism::run_to_run : Determinism::any},
                           {.input = input.view(), .output = output.view()},
                           is_asked_for ? scan_tuning() : std::optional(scan_tuning(ScanPath::two_pass)));
      });
      const auto bits = output.read_and_check_guards();
      if (repeat == 0) first = bits;
      ASSERT_TRUE(bits == first) << "run " << repeat;
    }
    const double last = items_of<float>(first).back();
    EXPECT_NEAR(last, 0.1f * static_cast<double>(items.size()), 0.1 * static_cast<double>(items.size()) * 0x1p-17);
  }
}

/// Traits that no profile has, put over the device's own.
class ScanInjectedGpu : public ScanGpu {};
INSTANTIATE_TEST_SUITE_P(, ScanInjectedGpu, ::testing::Values(Profile::no_subgroups, Profile::tiny_tiles),
                         profile_name);

TEST_P(ScanInjectedGpu, TwoOrThreeWorkgroupsADimensionFoldIntoThree) {
  const std::uint32_t most = affordable(200'000);
  const auto words = random_items<std::uint32_t>(most, 1);
  for (const std::uint32_t limit : {2u, 3u}) {
    DeviceTraits traits = context().traits();
    traits.max_workgroups_per_dimension = limit;
    context().override_traits(traits);
    for (const ScanPath path : both_paths) {
      ScanTuning tuning = scan_tuning(path);
      tuning.max_workgroups = std::min(tuning.max_workgroups, limit * limit * limit);
      std::uint32_t planned = 0;
      for (std::uint32_t count = 1; count < most; count += count / 4 + 1) {
        SCOPED_TRACE(std::format("limit {}, {}", limit, note(path, count)));
        const auto plan = plan_scan({.item_count = Count::on_host(count), .input = ElementType::u32()}, traits, tuning,
                                    {.input_bytes = 4, .output_bytes = 4});
        if (!plan) {
          EXPECT_THAT(plan.error().kind, AnyOf(ErrorKind::invalid_request, ErrorKind::unsupported));
          EXPECT_EQ(path, ScanPath::single_pass) << "chunks can always be longer";
          continue;
        }
        ++planned;
        const std::vector<std::uint32_t> items(words.begin(), words.begin() + count);
        expect_items(scan<std::uint32_t>(items, {.input = ElementType::u32()}, {.tuning = tuning}).items,
                     reference::scan_to_items<std::uint32_t>(OperatorKind::sum, items, {}));
        if (HasFailure()) return;
      }
      EXPECT_GT(planned, 10u);
    }
  }
}

TEST_P(ScanInjectedGpu, BindingsOfAThousandBytesAreScannedWindowByWindow) {
  const auto words = random_items<std::uint32_t>(7000, test_seed());
  const auto affine = affine_items(1000);
  Random random(test_seed());
  const auto heads = reference::random_flags(words.size(), 40, random);
  DeviceTraits traits = context().traits().with_default_limits();
  traits.max_binding_bytes = 1024;
  context().override_traits(traits);
  for (const bool is_first_form : {true, false}) {
    for (const std::uint32_t count : {1u, 191u, 192u, 193u, 256u, 257u, 1000u, 2000u}) {
      SCOPED_TRACE(std::format("{} items{}", count, is_first_form ? "" : ", reverse, in place"));
      const std::vector<std::uint32_t> items(words.begin(), words.begin() + count);
      const auto scanned = scan<std::uint32_t>(
          items,
          {.input = ElementType::u32(), .reverse = !is_first_form, .write_total = true, .in_place = !is_first_form},
          {.path = is_first_form ? ScanPath::automatic : ScanPath::two_pass, .output_item = count % 3});
      expect_items(scanned.items,
                   reference::scan_to_items<std::uint32_t>(OperatorKind::sum, items, {.is_reversed = !is_first_form}));
      EXPECT_EQ(scanned.totals[0], std::accumulate(items.begin(), items.end(), 0u));
      if (HasFailure()) return;
    }
  }
  const ScanPath path = ScanPath::two_pass;
  expect_items(scan<Affine>(affine, {.input = Affine::type(), .combine = Affine::combine()}, {.path = path}).items,
               reference::scan(std::span<const Affine>(affine), {}, Affine::identity()));
  for (const FlagFormat format : {FlagFormat::words, FlagFormat::bits}) {
    // Windows begin at aligned bytes of the flags, too: 2048 items of bits.
    traits.max_binding_bytes = format == FlagFormat::words ? 1024 : 10'000;
    context().override_traits(traits);
    expect_items(scan<std::uint32_t>(words, {.input = ElementType::u32(), .segments = ScanSegments::flags(format)},
                                     {.path = path, .heads = reference::packed_flags(format, heads, random)})
                     .items,
                 reference::scan_to_items<std::uint32_t>(OperatorKind::sum, words, {.heads = heads}));
  }
  traits.max_binding_bytes = 1024;
  context().override_traits(traits);
  // Counts on the device that end before, in and after a window.
  const std::vector<std::uint32_t> most(words.begin(), words.begin() + 1000);
  for (const bool is_reversed : {false, true}) {
    for (const std::uint32_t count : {0u, 1u, 192u, 193u, 700u, 1000u, 0xffffffffu}) {
      SCOPED_TRACE(std::format("{} of 1000 on the device{}", count, is_reversed ? ", reverse" : ""));
      auto expected = unwritten<std::uint32_t>(most.size());
      const auto used = std::span(most).first(std::min<std::size_t>(count, most.size()));
      std::ranges::copy(reference::scan_to_items<std::uint32_t>(OperatorKind::sum, used, {.is_reversed = is_reversed}),
                        expected.begin());
      const auto scanned =
          scan<std::uint32_t>(most, {.input = ElementType::u32(), .reverse = is_reversed, .write_total = true},
                              {.path = path, .output_item = 1, .count = count});
      expect_items(scanned.items, expected);
      EXPECT_EQ(scanned.totals[0], std::accumulate(used.begin(), used.end(), 0u));
    }
  }
  for (const std::uint32_t rows : {0u, 1u, 3u, 5u, 9u}) {
    SCOPED_TRACE(std::format("{} rows of 5 on the device", rows));
    const std::size_t used = std::min<std::size_t>(rows, 5) * 200;
    auto expected = unwritten<std::uint32_t>(most.size());
    std::ranges::copy(reference::scan_to_items<std::uint32_t>(OperatorKind::sum, std::span(most).first(used),
                                                              {.heads = reference::row_heads(used, 200)}),
                      expected.begin());
    expect_items(
        scan<std::uint32_t>(most, {.input = ElementType::u32(), .segments = ScanSegments::rows(Count::on_host(5), 200)},
                            {.path = path, .count = rows})
            .items,
        expected);
  }
  for (const auto& [row_count, row_length] : {std::pair{1u, 1500u}, {5u, 300u}, {80u, 7u}}) {
    SCOPED_TRACE(std::format("{} rows of {}", row_count, row_length));
    const std::vector<std::uint32_t> items(words.begin(), words.begin() + row_count * row_length);
    expect_items(
        scan<std::uint32_t>(
            items, {.input = ElementType::u32(), .segments = ScanSegments::rows(Count::on_host(row_count), row_length)},
            {.path = path})
            .items,
        reference::scan_to_items<std::uint32_t>(OperatorKind::sum, items,
                                                {.heads = reference::row_heads(items.size(), row_length)}));
  }
}

/// Subgroups of sizes and numberings that no device at hand has.
class ScanEmulatedGpu : public ScanGpu {};
INSTANTIATE_TEST_SUITE_P(, ScanEmulatedGpu, ::testing::Values(Profile::emulated), profile_name);

TEST_P(ScanEmulatedGpu, EverySubgroupSizeAndNumberingGivesTheSameResults) {
  const auto words = random_items<std::uint32_t>(20'000, test_seed());
  const auto sums = reference::scan_to_items<std::uint32_t>(OperatorKind::sum, words, {});
  const auto affine = affine_items(5000);
  const auto composed = maps_of(reference::scan(std::span<const Affine>(affine), {}, Affine::identity()));
  for (const std::uint32_t size : {4u, 32u, 64u, 128u}) {
    for (const std::uint32_t numbering : {0u, 93u}) {
      SCOPED_TRACE(std::format("size {}, seed {}", size, numbering));
      DeviceTraits traits = context().traits();
      traits.emulated_subgroup_size = size;
      traits.emulated_subgroup_seed = numbering;
      context().override_traits(traits);
      // A workgroup that is one subgroup, and one that is many.
      ScanTuning tuning = scan_tuning(numbering == 0 ? ScanPath::two_pass : ScanPath::single_pass);
      tuning.workgroup_size = 128;
      expect_items(scan<std::uint32_t>(words, {.input = ElementType::u32()}, {.tuning = tuning}).items, sums);
      if (numbering == 0 || size == 64) continue;
      expect_items(
          scan<Map>(maps_of(affine), {.input = ElementType::vec(Scalar::u32, 2), .combine = then()}, {.tuning = tuning})
              .items,
          composed);
    }
  }
}

/// Knobs that the library does not choose.
class ScanTuningsGpu : public ScanGpu {};
INSTANTIATE_TEST_SUITE_P(, ScanTuningsGpu, ::testing::Values(Profile::full), profile_name);

TEST_P(ScanTuningsGpu, EveryTuningGivesTheSameResults) {
  const auto words = random_items<std::uint32_t>(30'000, test_seed());
  const auto sums = reference::scan_to_items<std::uint32_t>(OperatorKind::sum, words, {});
  for (const ScanPath path : {ScanPath::two_pass, ScanPath::single_pass}) {
    const ScanTuning base{.path = path, .workgroup_size = 64, .rows = 2, .one_workgroup_items = 0};
    std::vector<ScanTuning> tunings(5, base);
    tunings[0].workgroup_size = 1;
    tunings[0].rows = 1;
    tunings[1].workgroup_size = 2;
    tunings[1].rows = 3;
    tunings[1].max_workgroups = 1;
    tunings[2].use_vectors = false;
    tunings[2].max_workgroups = 7;
    tunings[3].use_subgroups = false;
    tunings[3].poll_rounds = 1;
    tunings[4].workgroup_size = 128;
    tunings[4].rows = 5;
    tunings[4].in_order = true;
    if (path == ScanPath::single_pass) tunings.append_range(wide_tiles(3));
    for (const ScanTuning& tuning : tunings) {
      SCOPED_TRACE(to_string(tuning));
      const std::uint32_t count = tuning.workgroup_size == 1 ? 300 : 30'000;
      const std::vector<std::uint32_t> items(words.begin(), words.begin() + count);
      expect_items(scan<std::uint32_t>(items, {.input = ElementType::u32()}, {.tuning = tuning}).items,
                   std::vector(sums.begin(), sums.begin() + count));
    }
  }
}

/// Shapes drawn at random from a few kernels: sizes, offsets and counts vary.
class ScanRandomGpu : public ScanGpu {
 protected:
  struct Draw {
    ScanPath path;
    bool is_exclusive;
    bool is_reversed;
    bool is_in_place;
    bool has_init;
    bool has_total;
    bool on_device;
    std::uint32_t segments;  // whole, rows, flags, keys
  };

  template <typename T>
  void check(const BinaryOperator& op, const std::optional<T>& init, const Draw& draw, Random& random, Values values) {
    std::uint32_t count = 1 + random.below(random.below(2) == 0 ? 70 : affordable(10'000));
    const std::uint32_t row_length = draw.segments == 1 ? 1 + random.below(count) : count;
    count = count / row_length * row_length;
    const auto items = random_items<T>(count, random.next(), values);
    const std::uint32_t period = 1 + random.below(200);
    Walk walk{.is_exclusive = draw.is_exclusive, .is_reversed = draw.is_reversed};
    ScanShape shape{.input = element_type<T>(),
                    .combine = op,
                    .kind = draw.is_exclusive ? ScanKind::exclusive : ScanKind::inclusive,
                    .reverse = draw.is_reversed,
                    .write_total = draw.has_total && draw.segments < 2,
                    .in_place = draw.is_in_place};
    if (init) shape.init = ConstantValue::of(*init);
    Setting setting{.path = draw.path, .input_item = random.below(70), .output_item = random.below(70)};
    std::uint32_t used = count;
    if (draw.segments == 1) {
      shape.segments = ScanSegments::rows(Count::on_host(count / row_length), row_length);
      walk.heads = reference::row_heads(count, row_length);
      if (draw.on_device) setting.count = random.below(count / row_length + 2);
      if (setting.count) used = std::min(count, *setting.count * row_length);
    } else {
      if (draw.on_device) setting.count = random.below(count + 9);
      if (setting.count) used = std::min(count, *setting.count);
    }
    if (draw.segments == 2) {
      const auto format = static_cast<FlagFormat>(random.below(3));
      walk.heads = reference::random_flags(count, period, random);
      shape.segments = ScanSegments::flags(format);
      setting.heads = reference::packed_flags(format, walk.heads, random);
    } else if (draw.segments == 3) {
      std::vector<std::int32_t> keys(count);
      for (std::uint32_t i = 1; i < count; ++i) keys[i] = keys[i - 1] + (random.below(period) == 0 ? 1 : 0);
      walk.heads = reference::run_heads(keys, std::equal_to<>());
      shape.segments = ScanSegments::keys(ElementType::i32());
      const auto bytes = bytes_of(keys);
      setting.keys.assign(bytes.begin(), bytes.end());
    }
    SCOPED_TRACE(std::format("{} of {} {}, {} used{}{}{}, segments {}, rows of {}, items {} and {}, path {}",
                             to_string(op), count, shape.input.name, used, draw.is_exclusive ? ", exclusive" : "",
                             draw.is_reversed ? ", reverse" : "", draw.is_in_place ? ", in place" : "", draw.segments,
                             row_length, setting.input_item, setting.output_item, to_string(draw.path)));
    auto expected = draw.is_in_place ? items : unwritten<T>(count);
    const auto scanned_items = reference::scan_to_items<T>(op.kind, std::span(items).first(used), walk, init);
    std::ranges::copy(scanned_items, expected.begin());
    const auto scanned = scan<T>(items, shape, setting);
    expect_numbers(scanned.items, expected);
    if (!shape.write_total) return;
    for (std::uint32_t row = 0; row < used / row_length; ++row) {
      reference::Running<T> total(op.kind);
      if (init) total.add(*init);
      for (const T& item : std::span(items).subspan(std::size_t{row} * row_length, row_length)) total.add(item);
      EXPECT_TRUE(is_same(scanned.totals[row], total.item())) << "total of row " << row;
    }
  }
};
INSTANTIATE_TEST_SUITE_P(, ScanRandomGpu, ::testing::Values(Profile::full, Profile::tiny_tiles), profile_name);

TEST_P(ScanRandomGpu, ShapesDrawnAtRandomAreScanned) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  Random random(seed + static_cast<std::uint64_t>(GetParam()));
  for (int kernel = 0; kernel < (is_tiny() ? 12 : 5); ++kernel) {
    Draw draw{.path = random.below(2) == 0 ? ScanPath::two_pass : ScanPath::single_pass,
              .is_exclusive = random.below(2) == 0,
              .is_reversed = random.below(3) == 0,
              .is_in_place = random.below(4) == 0,
              .has_init = random.below(2) == 0,
              .has_total = random.below(2) == 0,
              .on_device = random.below(3) == 0,
              .segments = random.below(6)};
    if (draw.segments > 3) draw.segments = 0;
    if (draw.segments == 1 || draw.is_in_place) draw.path = ScanPath::two_pass;
    const std::uint32_t type = random.below(5);
    for (int repeat = 0; repeat < 8 && !HasFailure(); ++repeat) {
      switch (type) {
        case 0:
          check<std::uint32_t>(BinaryOperator::sum(), draw.has_init ? std::optional(5u) : std::nullopt, draw, random,
                               Values::any);
          break;
        case 1:
          check<std::int32_t>(BinaryOperator::max(), draw.has_init ? std::optional(-5) : std::nullopt, draw, random,
                              Values::any);
          break;
        case 2:
          check<float>(BinaryOperator::sum(), draw.has_init ? std::optional(5.0f) : std::nullopt, draw, random,
                       Values::small);
          break;
        case 3:
          check<std::int64_t>(BinaryOperator::sum(), draw.has_init ? std::optional<std::int64_t>(-5) : std::nullopt,
                              draw, random, Values::any);
          break;
        default:
          check<Vec<std::uint32_t, 2>>(BinaryOperator::bit_xor(),
                                       draw.has_init ? std::optional(Vec<std::uint32_t, 2>{5, 6}) : std::nullopt, draw,
                                       random, Values::any);
          break;
      }
    }
  }
}

}  // namespace
}  // namespace upsweep::testing
