// SPDX-License-Identifier: Apache-2.0
// Plans of merge sorts without a device: which passes, where arrays lie between them, limits, refusals, golden plans.
#include <format>

#include "testing/operators_for_tests.h"
#include "testing/orders_for_tests.h"
#include "testing/tile_plans.h"
#include "upsweep/merge_sort.h"

namespace upsweep::testing {
namespace {

using ::testing::HasSubstr;

MergeSortShape keys_of(std::uint64_t count, ElementType key = ElementType::u32()) {
  return {.item_count = Count::on_host(count), .key = std::move(key)};
}

MergeSortShape pairs_of(std::uint64_t count) {
  MergeSortShape shape = keys_of(count);
  shape.value = ElementType::u32();
  return shape;
}

Plan planned(const MergeSortShape& shape, const DeviceTraits& traits = least_traits(),
             std::optional<MergeSortTuning> tuning = std::nullopt) {
  auto plan = plan_merge_sort(shape, traits, tuning);
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  return plan ? std::move(*plan) : Plan{};
}

std::string refusal(const MergeSortShape& shape, ErrorKind kind = ErrorKind::invalid_request,
                    const DeviceTraits& traits = least_traits(), std::optional<MergeSortTuning> tuning = std::nullopt) {
  const auto plan = plan_merge_sort(shape, traits, tuning);
  if (plan) return "no error";
  EXPECT_EQ(plan.error().kind, kind) << plan.error().message;
  return plan.error().message;
}

constexpr MergeSortTuning tiny{.sort_workgroup_size = 4,
                               .sort_items_per_thread = 3,
                               .merge_workgroup_size = 4,
                               .merge_items_per_thread = 5,
                               .split_pass_items = 0};

TEST(MergeSortPlan, RunsDoubleUntilOneIsLeft) {
  for (const std::uint64_t count : {1u, 12u, 13u, 24u, 25u, 48u, 49u, 1000u, 1'000'000u}) {
    const Plan plan = planned(keys_of(count), least_traits(), tiny);
    std::uint64_t run = 12;
    ASSERT_EQ(param_of(plan.dispatches.at(0), "tile_count"), (count + 11) / 12);
    for (std::size_t step = 1; step < plan.dispatches.size(); step += 2) {
      ASSERT_LT(run, count);
      for (const Dispatch* dispatch : {&plan.dispatches[step], &plan.dispatches.at(step + 1)}) {
        EXPECT_EQ(param_of(*dispatch, "run_items"), run);
        const std::uint64_t pair_tiles = param_of(*dispatch, "pair_tiles");
        const std::uint64_t tiles = param_of(*dispatch, "tile_count");
        EXPECT_EQ(pair_tiles, (2 * run + 19) / 20);
        // The last pair may be shorter, but each of its items lies in a tile.
        const std::uint64_t last = (tiles - 1) / pair_tiles;
        EXPECT_GE(2 * run * last + 20 * (tiles - last * pair_tiles), count);
        EXPECT_LT(2 * run * last + 20 * (tiles - last * pair_tiles - 1), count);
      }
      EXPECT_TRUE(is_role(plan.dispatches[step], "splits"));
      EXPECT_TRUE(is_role(plan.dispatches[step + 1], "merge"));
      run *= 2;
    }
    EXPECT_GE(run, count);
    expect_limits(plan, least_traits());
  }
  EXPECT_TRUE(planned(keys_of(0)).dispatches.empty());
}

// Each pass reads what the one before wrote and writes something else; the input is read by the first alone; the last
// one writes the result.
TEST(MergeSortPlan, PassesHandArraysOnAndTheInputIsNotWritten) {
  for (const std::uint64_t count : {12u, 20u, 40u, 90u, 150u, 1000u}) {
    for (const bool writes_keys : {true, false}) {
      for (const bool writes_indices : {true, false}) {
        MergeSortShape shape = pairs_of(count);
        shape.write_keys = writes_keys;
        shape.write_indices = writes_indices;
        SCOPED_TRACE(std::format("{} items, keys {}, indices {}", count, writes_keys, writes_indices));
        const Plan plan = planned(shape, least_traits(), tiny);
        const auto name_of = [&](const BoundRange& range) {
          return range.slot.kind == SlotKind::argument ? plan.arguments.at(range.slot.index).name
                                                       : "scratch " + plan.scratch.at(range.slot.index).name;
        };
        for (const std::string_view array : {"keys", "values"}) {
          std::string last = std::string(array);
          for (const Dispatch& dispatch : plan.dispatches) {
            if (is_role(dispatch, "gather")) continue;
            const BoundRange* in = range_of(dispatch, std::format("{}_in", array));
            const BoundRange* out = range_of(dispatch, std::format("{}_out", array));
            if (in != nullptr) {
              EXPECT_EQ(name_of(*in), last);
            }
            if (out == nullptr) continue;
            EXPECT_NE(name_of(*out), last);
            EXPECT_NE(name_of(*out), array);
            last = name_of(*out);
          }
          if (array == "keys") {
            EXPECT_EQ(last, writes_keys ? "sorted_keys" : "scratch unused");
          } else {
            EXPECT_EQ(last, writes_indices ? "indices" : "sorted_values");
          }
        }
        EXPECT_EQ(is_role(plan.dispatches.back(), "gather"), writes_indices);
        for (const ArgumentSlot& argument : plan.arguments) {
          EXPECT_EQ(argument.is_written, argument.name.starts_with("sorted") || argument.name == "indices");
        }
      }
    }
  }
}

TEST(MergeSortPlan, LargeValuesFollowByIndex) {
  const auto roles = [](const ElementType& value) {
    MergeSortShape shape = keys_of(30);
    shape.value = value;
    return roles_of(planned(shape, least_traits(), tiny));
  };
  EXPECT_EQ(roles(ElementType::f16()), "tiles splits merge splits merge");
  EXPECT_EQ(roles(ElementType::u64()), "tiles splits merge splits merge");
  EXPECT_EQ(roles(Tally<3>::type()), "tiles splits merge splits merge gather");
  EXPECT_EQ(roles(ElementType::vec(Scalar::u32, 4)), "tiles splits merge splits merge gather");
}

TEST(MergeSortPlan, FewItemsHaveNoPassesForSplits) {
  MergeSortTuning tuning = tiny;
  tuning.split_pass_items = 40;
  EXPECT_EQ(roles_of(planned(keys_of(39), least_traits(), tuning)), "tiles merge merge");
  EXPECT_EQ(roles_of(planned(keys_of(40), least_traits(), tuning)), "tiles splits merge splits merge");
  MergeSortShape shape = pairs_of(39);
  shape.item_count.read_on_device = true;
  const Plan plan = planned(shape, least_traits(), tuning);
  for (const Dispatch& dispatch : plan.dispatches) EXPECT_NE(range_of(dispatch, "left_counts"), nullptr);
  expect_limits(plan, least_traits());
}

TEST(MergeSortPlan, KernelsDoNotDependOnCounts) {
  const auto text = [](std::uint64_t count, std::size_t pass) {
    return planned(pairs_of(count), gpu_traits()).dispatches.at(pass).kernel->text;
  };
  EXPECT_EQ(text(1, 0), text(100'000'000, 0));
  for (const std::size_t pass : {1u, 2u}) EXPECT_EQ(text(300'000, pass), text(100'000'000, pass));
}

TEST(MergeSortPlan, NoPlanExceedsTheLeastLimits) {
  for (const ElementType& key : {ElementType::u32(), ElementType::f16(), ElementType::u64()}) {
    for (const std::uint32_t items : {1u, 9u, 17u, 32u}) {
      for (const bool has_values : {false, true}) {
        MergeSortShape shape = keys_of(1'000'000, key);
        if (has_values) shape.value = ElementType::u64();
        shape.item_count.read_on_device = true;
        MergeSortTuning tuning{.sort_items_per_thread = items, .merge_items_per_thread = items};
        expect_limits(planned(shape, least_traits(), tuning), least_traits());
        tuning.split_pass_items = 0xffffffffu;
        expect_limits(planned(shape, least_traits(), tuning), least_traits());
      }
    }
  }
  expect_limits(planned(keys_of(33'000'000)), least_traits());
}

TEST(MergeSortPlan, RefusesWhatItCannotDo) {
  EXPECT_THAT(refusal(keys_of(10, Parcel::type())), HasSubstr("A merge sort of Parcel needs an order"));
  EXPECT_THAT(refusal(keys_of((std::uint64_t{1} << 30) + 1), ErrorKind::unsupported, gpu_traits()),
              HasSubstr("1073741824"));
  EXPECT_THAT(refusal(keys_of((128u << 18) + 1), ErrorKind::unsupported), HasSubstr("134217728 bytes"));
  MergeSortShape shape = keys_of(10);
  shape.write_keys = false;
  EXPECT_THAT(refusal(shape), HasSubstr("has no result"));
  EXPECT_THAT(
      refusal(keys_of(10), ErrorKind::invalid_request, least_traits(), MergeSortTuning{.merge_workgroup_size = 96}),
      HasSubstr("out of range"));
  EXPECT_THAT(
      refusal(keys_of(10), ErrorKind::invalid_request, least_traits(), MergeSortTuning{.merge_items_per_thread = 0}),
      HasSubstr("out of range"));
  shape = keys_of(10, *ElementType::structure("Huge", "struct Huge { words: array<u32, 3000> }", 12000, 12000));
  shape.order = KeyOrder::less("first", "fn first(a: Huge, b: Huge) -> bool { return a.words[0] < b.words[0]; }");
  EXPECT_THAT(refusal(shape, ErrorKind::unsupported), HasSubstr("keys of 12000 bytes does not fit"));
}

TEST(MergeSortPlan, ProfilesChangeThePlanByLimitsAlone) {
  EXPECT_EQ(to_string(planned(pairs_of(100'000), gpu_traits())),
            to_string(planned(pairs_of(100'000), gpu_traits().without_subgroups())));
  EXPECT_EQ(to_string(planned(pairs_of(100'000), emulated_traits())),
            to_string(planned(pairs_of(100'000), least_traits())));
}

std::string golden_text() {
  std::string text;
  const auto add = [&](std::string_view title, const MergeSortShape& shape, const DeviceTraits& traits,
                       std::optional<MergeSortTuning> tuning = std::nullopt) {
    text += std::format("== {}\n{}\n", title, to_string(planned(shape, traits, tuning)));
  };
  add("1000 keys, least limits", keys_of(1000), least_traits());
  add("10000 pairs, test GPU", pairs_of(10'000), gpu_traits());
  add("300000 keys, test GPU", keys_of(300'000), gpu_traits(),
      MergeSortTuning{.sort_workgroup_size = 1024, .sort_items_per_thread = 8});
  MergeSortShape argsort = keys_of(5000, Parcel::type());
  argsort.order = Parcel::order();
  argsort.write_keys = false;
  argsort.write_indices = true;
  argsort.item_count.read_on_device = true;
  add("argsort of at most 5000 structs, test GPU", argsort, gpu_traits());
  MergeSortShape records = keys_of(3000, ElementType::f16());
  records.value = Tally<9>::type();
  add("3000 f16 with structs, test GPU", records, gpu_traits());
  return text;
}

TEST(MergeSortPlan, GoldenPlansAreUnchanged) { expect_golden("merge_sort", golden_text()); }

}  // namespace
}  // namespace upsweep::testing
