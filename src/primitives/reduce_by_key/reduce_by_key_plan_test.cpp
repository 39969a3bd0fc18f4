// SPDX-License-Identifier: Apache-2.0
// Plans of reductions by key without a device: limits, paths, refusals, and the golden plans.
#include <format>
#include <set>
#include <string>
#include <vector>

#include "testing/operators_for_tests.h"
#include "testing/tile_plans.h"
#include "upsweep/runs.h"

namespace upsweep::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Plan planned(const ReduceByKeyShape& shape, const DeviceTraits& traits = least_traits(),
             std::optional<ScanTuning> tuning = std::nullopt, ScanOffsets offsets = {}) {
  auto plan = plan_reduce_by_key(shape, traits, tuning, offsets);
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  return plan ? std::move(*plan) : Plan{};
}

std::string refusal(const ReduceByKeyShape& shape, const DeviceTraits& traits = least_traits(),
                    std::optional<ScanTuning> tuning = std::nullopt, ErrorKind kind = ErrorKind::invalid_request) {
  const auto plan = plan_reduce_by_key(shape, traits, tuning);
  if (plan) return "no error";
  EXPECT_EQ(plan.error().kind, kind) << plan.error().message;
  return plan.error().message;
}

std::set<std::string> names_of_arguments(const Plan& plan) {
  std::set<std::string> names;
  for (const ArgumentSlot& argument : plan.arguments) names.insert(argument.name);
  return names;
}

ReduceByKeyShape by_key(std::uint64_t count, ElementType key = ElementType::u32(),
                        ElementType value = ElementType::f32(), BinaryOperator combine = BinaryOperator::sum()) {
  return {.item_count = Count::on_host(count),
          .key = std::move(key),
          .input = std::move(value),
          .combine = std::move(combine)};
}

TEST(ReduceByKeyWalk, EveryItemIsFoldedByOnePass) {
  for (const auto& [traits, tuning] : {std::pair{least_traits(), fixed_tuning()},
                                       {gpu_traits(), fixed_tuning(ScanPath::single_pass)},
                                       {least_traits(), tiny_tuning()}}) {
    for (const ElementType& key : {ElementType::u32(), ElementType::f16(), ElementType::u64()}) {
      for (const ElementType& value : {ElementType::f32(), ElementType::i64()}) {
        for (const std::uint64_t count : {1u, 4u, 9u, 33u, 4096u, 4097u, 8193u, 65537u}) {
          SCOPED_TRACE(std::format("{} x {} by {}", count, value.name, key.name));
          const Plan plan = planned(by_key(count, key, value), traits, tuning);
          expect_walk(plan, {.row_length = count, .stride_bytes = key.stride_bytes}, traits);
          expect_limits(plan, traits);
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST(ReduceByKeyWalk, AWindowSeesTheKeyBeforeIt) {
  const DeviceTraits traits = with_limits(0, 4096);
  ReduceByKeyShape shape = by_key(0);
  shape.item_count = Count::on_device(1024);
  const Plan plan = planned(shape, traits, tiny_tuning(), {.input_bytes = 4, .output_bytes = 4});
  EXPECT_EQ(roles_of(plan), "totals chunks totals chunks");
  expect_walk(plan, {.row_length = 1024, .offset_bytes = 4, .halo = 1}, traits);
  expect_limits(plan, traits);
}

// C99: the primitive with the most buffers.
TEST(ReduceByKeyLimits, NoTuningExceedsTheLeastLimits) {
  const DeviceTraits with_subgroups = gpu_traits().with_default_limits();
  for (const DeviceTraits& traits : {least_traits(), emulated_traits(), with_subgroups}) {
    for (const ElementType& value :
         {ElementType::u32(), ElementType::u64(), ElementType::vec(Scalar::f32, 4), Tally<16>::type()}) {
      for (const ScanPath path : {ScanPath::two_pass, ScanPath::single_pass}) {
        for (const std::uint32_t threads : {4u, 64u, 256u}) {
          for (const std::uint32_t loads : {1u, 2u, 5u, 8u, 16u}) {
            SCOPED_TRACE(std::format("{}, {} threads x {}", value.name, threads, loads));
            ReduceByKeyShape shape =
                by_key(0, ElementType::u32(), value, value.is_struct() ? Tally<16>::combine() : BinaryOperator::sum());
            shape.item_count = Count::on_device(20'000);
            const auto plan =
                plan_reduce_by_key(shape, traits, ScanTuning{.path = path, .workgroup_size = threads, .rows = loads});
            if (!plan) {
              EXPECT_THAT(plan.error().message, HasSubstr("No single pass here"));
              EXPECT_TRUE(value.is_struct() || value.components == 4);
              continue;
            }
            expect_limits(*plan, traits);
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST(ReduceByKeyPlan, ChoosesItsPathAsAScanDoes) {
  DeviceTraits traits = gpu_traits();
  ReduceByKeyShape shape = by_key(1 << 20);
  EXPECT_EQ(roles_of(planned(shape, traits)), "single_pass");
  shape.determinism = Determinism::run_to_run;
  EXPECT_EQ(roles_of(planned(shape, traits)), "totals chunks");
  EXPECT_EQ(refusal(shape, traits, fixed_tuning(ScanPath::single_pass)),
            "A single pass does not repeat float sums bit for bit.");
  shape.input = ElementType::u32();
  EXPECT_EQ(roles_of(planned(shape, traits)), "single_pass");
  traits.look_back = false;
  EXPECT_EQ(roles_of(planned(shape, traits)), "totals chunks");
  // The number of runs takes one of a record's four words.
  EXPECT_THAT(refusal(by_key(10'000, ElementType::u32(), ElementType::vec(Scalar::f32, 4)), gpu_traits(),
                      fixed_tuning(ScanPath::single_pass)),
              HasSubstr("an accumulator of 5 words is more than the 4 of a record"));
}

// The sum of all before a tile less the sum before their last run is all that matters to it.
TEST(ReduceByKeyPlan, OfDifferencesTwoWordsLookBack) {
  const auto text = [](const DeviceTraits& traits) {
    const ReduceByKeyShape shape = by_key(100'000, ElementType::u32(), ElementType::i32());
    return planned(shape, traits, fixed_tuning(ScanPath::single_pass)).dispatches.at(0).kernel->text;
  };
  DeviceTraits traits = gpu_traits();
  EXPECT_THAT(text(traits), AllOf(HasSubstr("state[first + part]"), HasSubstr("state[first + 3u]"),
                                  Not(HasSubstr("state[first + 4u]"))));
  traits.subgroups = false;
  EXPECT_THAT(text(traits), AllOf(Not(HasSubstr("state[first + part]")), HasSubstr("atomicStore(&state[first + 3u]"),
                                  Not(HasSubstr("state[first + 4u]"))));
}

TEST(ReduceByKeyPlan, MovesVectorsWhereTypesAndOffsetsAllow) {
  const auto vectors = [](const ReduceByKeyShape& shape, ScanOffsets offsets = {}) {
    return planned(shape, gpu_traits(), fixed_tuning(), offsets).dispatches.at(0).kernel->find_binding("input_units") !=
           nullptr;
  };
  EXPECT_TRUE(vectors(by_key(1000)));
  EXPECT_TRUE(vectors(by_key(1000, ElementType::f16(), ElementType::u32())));
  EXPECT_FALSE(vectors(by_key(1000, ElementType::u64(), ElementType::u32())));
  EXPECT_TRUE(vectors(by_key(1000), {.input_bytes = 4, .output_bytes = 20}));
  EXPECT_FALSE(vectors(by_key(1000), {.input_bytes = 4}));
}

TEST(ReduceByKeyPlan, OnlySumsThatWrapAreDifferences) {
  const auto differences = [](const ReduceByKeyShape& shape) {
    return planned(shape, gpu_traits(), fixed_tuning(ScanPath::single_pass))
        .dispatches.at(0)
        .kernel->text.contains("sum_to_head");
  };
  const ElementType key = ElementType::u32();
  EXPECT_TRUE(differences(by_key(100'000, key, ElementType::u32())));
  EXPECT_TRUE(differences(by_key(100'000, ElementType::f32(), ElementType::i32())));
  // A difference of float sums would lose what is small beside what came before.
  EXPECT_FALSE(differences(by_key(100'000, key, ElementType::f32())));
  EXPECT_FALSE(differences(by_key(100'000, key, ElementType::u32(), BinaryOperator::max())));
  EXPECT_FALSE(differences(by_key(100'000, key, ElementType::u64())));
  EXPECT_FALSE(differences(by_key(100'000, ElementType::u64(), ElementType::u32()))) << "keys that are not staged";
}

TEST(ReduceByKeyPlan, ManyTilesTakeKeysAndValuesApart) {
  const DeviceTraits traits = gpu_traits();
  ReduceByKeyShape shape = by_key(1 << 23);
  EXPECT_EQ(roles_of(planned(shape, traits)), "single_pass values carries");
  EXPECT_EQ(roles_of(planned(shape, traits, std::nullopt, {.input_bytes = 4})), "single_pass") << "no vectors";
  shape.determinism = Determinism::run_to_run;
  EXPECT_EQ(roles_of(planned(shape, traits)), "single_pass values carries") << "only counts look back";
  DeviceTraits no_look_back = traits;
  no_look_back.look_back = false;
  EXPECT_EQ(roles_of(planned(shape, no_look_back)), "totals chunks values carries");
  EXPECT_EQ(roles_of(planned(by_key(1 << 20), traits)), "single_pass") << "few tiles";
  EXPECT_EQ(roles_of(planned(by_key(1 << 21), traits)), "single_pass values carries");
  const auto sums = [](std::uint64_t count) { return by_key(count, ElementType::u32(), ElementType::u32()); };
  constexpr std::uint64_t most_in_one_pass = 256 * 256 * 32;
  EXPECT_EQ(roles_of(planned(sums(most_in_one_pass), traits)), "single_pass") << "differences";
  EXPECT_EQ(roles_of(planned(sums(most_in_one_pass + 1), traits)), "single_pass values");
  EXPECT_EQ(roles_of(planned(sums(1 << 23), no_look_back)), "totals chunks values");
  for (const ElementType& value : {ElementType::f32(), ElementType::i32(), ElementType::u32()}) {
    for (const BinaryOperator& op : {BinaryOperator::max(), BinaryOperator::argmin()}) {
      const Plan plan = planned(by_key(1 << 23, ElementType::f32(), value, op), traits);
      const bool folds = value != ElementType::f32() && op.kind == OperatorKind::max;
      EXPECT_EQ(roles_of(plan), folds ? "single_pass values" : "single_pass values carries");
      expect_limits(plan, traits);
    }
  }
  EXPECT_EQ(roles_of(planned(by_key(1 << 23, ElementType::f16()), traits)), "single_pass");
  EXPECT_EQ(roles_of(planned(by_key(1 << 23, ElementType::u64(), ElementType::u64()), traits)), "single_pass");
  DeviceTraits varying = traits;
  varying.subgroup_min_size = 16;
  EXPECT_EQ(roles_of(planned(by_key(1 << 23), varying)), "single_pass") << "masks of heads are laid out by lanes";
  DeviceTraits narrow = traits;
  narrow.subgroup_min_size = narrow.subgroup_max_size = 4;
  EXPECT_EQ(roles_of(planned(by_key(1 << 23), narrow)), "single_pass values carries");
  DeviceTraits unknown = traits;
  unknown.subgroup_min_size = unknown.subgroup_max_size = 0;
  EXPECT_EQ(roles_of(planned(by_key(1 << 23), unknown)), "single_pass");
}

// Results that tiles fold into are bound by the pass over keys, too, so default limits take records.
TEST(ReduceByKeyPlan, EndsAreFoldedWhereThereAreBuffers) {
  DeviceTraits traits = gpu_traits();
  ReduceByKeyShape shape = by_key(1 << 24, ElementType::u32(), ElementType::i32(), BinaryOperator::bit_xor());
  const auto roles_with = [&](std::uint32_t buffers) {
    traits.max_storage_buffers = buffers;
    const Plan plan = planned(shape, traits);
    expect_limits(plan, traits);
    return roles_of(plan);
  };
  EXPECT_EQ(roles_with(9), "single_pass values");
  EXPECT_EQ(roles_with(8), "single_pass values carries");
  shape.item_count.read_on_device = true;
  EXPECT_EQ(roles_with(10), "single_pass values");
  EXPECT_EQ(roles_with(9), "single_pass values carries");
  shape = by_key((1 << 23) + 1, ElementType::u32(), ElementType::u32());
  EXPECT_EQ(roles_with(8), "single_pass values carries") << "sums";
  shape.item_count.max = 1 << 23;
  EXPECT_EQ(roles_with(8), "single_pass") << "of differences";
}

TEST(ReduceByKeyPlan, TilesAreNumberedThroughAllWindows) {
  constexpr std::uint32_t count = 70'000;
  DeviceTraits traits = gpu_traits();
  traits.max_binding_bytes = 4 * count;
  traits.subgroup_min_size = traits.subgroup_max_size = 8;
  const ScanTuning tuning{.path = ScanPath::single_pass, .workgroup_size = 8, .rows = 8};
  const Plan windows = planned(by_key(count), traits, tuning, {.input_bytes = 4, .output_bytes = 4});
  ASSERT_EQ(roles_of(windows), "single_pass values single_pass values carries");
  const std::uint64_t first = param_of(windows.dispatches[0], "chunks_per_row");
  EXPECT_EQ(param_of(windows.dispatches[1], "chunks_per_row"), first);
  EXPECT_EQ(param_of(windows.dispatches[0], "tile_base"), 0u);
  EXPECT_EQ(param_of(windows.dispatches[2], "tile_base"), first);
  EXPECT_EQ(param_of(windows.dispatches[3], "tile_base"), first);
  EXPECT_EQ(param_of(windows.dispatches[4], "record_count"), first + param_of(windows.dispatches[2], "chunks_per_row"));
  expect_limits(windows, traits);
}

// A vector must fit into what the last window binds.
TEST(ReduceByKeyPlan, LastWindowsAreNotTooSmallForVectors) {
  for (const ScanPath path : {ScanPath::two_pass, ScanPath::single_pass}) {
    for (std::uint32_t rest = 1; rest <= 20; ++rest) {
      SCOPED_TRACE(rest);
      const std::uint32_t count = 64 * 1100 + rest;
      DeviceTraits traits = gpu_traits();
      traits.offset_alignment = 256;
      traits.max_binding_bytes = 4 * (count - rest) + 256;
      const ScanTuning tuning{.path = path, .workgroup_size = 8, .rows = 8};
      const ReduceByKeyShape shape = by_key(count, ElementType::u32(), ElementType::u32());
      const Plan plan = planned(shape, traits, tuning, {.input_bytes = 4, .output_bytes = 4});
      expect_limits(plan, traits);
      expect_walk(plan, {.row_length = count, .offset_bytes = 4, .halo = 1}, traits);
      EXPECT_GE(
          std::ranges::count_if(plan.dispatches, [](const Dispatch& d) { return param_of(d, "is_first_window") == 0; }),
          1);
      if (HasFailure()) return;
    }
  }
}

TEST(ReduceByKeyPlan, StatesTheBytesThatItMoves) {
  constexpr std::uint64_t count = 1 << 24;
  const ReduceByKeyShape differences = by_key(count / 16, ElementType::u32(), ElementType::u32());
  EXPECT_EQ(planned(differences, gpu_traits(), fixed_tuning(ScanPath::single_pass)).bytes_moved(), count);
  // Each tile has a mask of heads, the places of its subgroups and a record, each written and read.
  constexpr std::uint64_t tiles = count / 8192 + 1;
  EXPECT_EQ(planned(by_key(count), gpu_traits(), fixed_tuning(ScanPath::single_pass)).bytes_moved(),
            16 * count + 2 * tiles * (1024 + 36 + 12));
  EXPECT_EQ(planned(by_key(count)).least_bytes, 8 * count);
}

TEST(ReduceByKeyPlan, AsksForTheArgumentsOfItsShape) {
  using Names = std::set<std::string>;
  EXPECT_EQ(names_of_arguments(planned(by_key(100))), (Names{"keys", "input", "unique_keys", "output", "count"}));
  EXPECT_EQ(names_of_arguments(planned(by_key(0))), (Names{"count"}));
  EXPECT_EQ(roles_of(planned(by_key(0))), "empty");
  EXPECT_EQ(planned(by_key(100, ElementType::u32(), ElementType::u64(), BinaryOperator::argmin()))
                .find_argument("output")
                ->size_bytes,
            400u);
}

TEST(ReduceByKeyRefusals, RequestsAndLimitsAreNamed) {
  EXPECT_EQ(refusal(by_key(10, MinMax::type())),
            "Items of the struct MinMax need an equality: a WGSL expression of a and b.");
  EXPECT_THAT(
      refusal(by_key(10, ElementType::u32(), ElementType::f32(), BinaryOperator::bit_or())),
      AllOf(HasSubstr("Operator or is not defined for f32 items"), HasSubstr("While planning a reduction by key")));
  EXPECT_THAT(refusal(by_key(10, ElementType::vec(Scalar::u32, 3))), HasSubstr("is no element type"));
  const auto refused = [](const ReduceByKeyShape& wanted) {
    return refusal(wanted, least_traits(), std::nullopt, ErrorKind::unsupported);
  };
  EXPECT_THAT(refused(by_key(0xffffffff)), AllOf(HasSubstr("4294967295 items"), HasSubstr("4294967294")));
  EXPECT_THAT(refused(by_key(40'000'000)), AllOf(HasSubstr("160000000 bytes"), HasSubstr("134217728 bytes")));
}

std::string golden_text() {
  std::string text;
  const auto add = [&](std::string_view title, const Plan& plan) {
    text += std::format("=== {}\n{}\n", title, to_string(plan));
  };
  add("sums of 100000 f32 by u32, least limits", planned(by_key(100'000), least_traits(), fixed_tuning()));
  add("maxima of 1001000 u32 by f32, single pass, GPU",
      planned(by_key(1'001'000, ElementType::f32(), ElementType::u32(), BinaryOperator::max()), gpu_traits(),
              fixed_tuning(ScanPath::single_pass)));
  add("maxima of 8000000 f32 by f32, GPU",
      planned(by_key(8'000'000, ElementType::f32(), ElementType::f32(), BinaryOperator::max()), gpu_traits()));
  add("maxima of 8000000 u32 by f32, GPU",
      planned(by_key(8'000'000, ElementType::f32(), ElementType::u32(), BinaryOperator::max()), gpu_traits()));
  return text;
}

TEST(ReduceByKeyPlan, GoldenPlansAreUnchanged) { expect_golden("reduce_by_key", golden_text()); }

}  // namespace
}  // namespace upsweep::testing
