// SPDX-License-Identifier: Apache-2.0
// Plans of merges without a device: tiles, ranges without items, limits, refusals, golden plans.
#include <format>

#include "testing/operators_for_tests.h"
#include "testing/orders_for_tests.h"
#include "testing/tile_plans.h"
#include "upsweep/merge.h"

namespace upsweep::testing {
namespace {

using ::testing::HasSubstr;

MergeShape merge_of(std::uint64_t left, std::uint64_t right, ElementType key = ElementType::u32()) {
  return {.left_count = Count::on_host(left), .right_count = Count::on_host(right), .key = std::move(key)};
}

Plan planned(const MergeShape& shape, const DeviceTraits& traits = least_traits(),
             std::optional<MergeTuning> tuning = std::nullopt) {
  auto plan = plan_merge(shape, traits, tuning);
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  return plan ? std::move(*plan) : Plan{};
}

std::string refusal(const MergeShape& shape, ErrorKind kind = ErrorKind::invalid_request,
                    const DeviceTraits& traits = least_traits(), std::optional<MergeTuning> tuning = std::nullopt) {
  const auto plan = plan_merge(shape, traits, tuning);
  if (plan) return "no error";
  EXPECT_EQ(plan.error().kind, kind) << plan.error().message;
  return plan.error().message;
}

TEST(MergePlan, TilesCoverAllItems) {
  const MergeTuning tuning{.workgroup_size = 64, .items_per_thread = 3, .split_pass_items = 0};
  for (const auto& [left, right] : {std::pair{1u, 0u}, {0u, 1u}, {100u, 92u}, {100u, 93u}, {5'000'000u, 20'000'000u}}) {
    const Plan plan = planned(merge_of(left, right), least_traits(), tuning);
    EXPECT_EQ(roles_of(plan), "splits tiles");
    expect_limits(plan, least_traits());
    for (const Dispatch& dispatch : plan.dispatches) {
      const std::uint64_t tiles = param_of(dispatch, "tile_count");
      EXPECT_EQ(KernelText(*dispatch.kernel).constant("TILE_ITEMS"), 192u);
      EXPECT_EQ(tiles, (left + right + 191) / 192);
      EXPECT_EQ(param_of(dispatch, "pair_tiles"), tiles);
    }
    const Grid& grid = plan.dispatches[1].grid;
    EXPECT_GE(std::uint64_t{grid.x} * grid.y * grid.z, param_of(plan.dispatches[1], "tile_count"));
    EXPECT_EQ(plan.find_argument("left_keys") != nullptr, left != 0);
    EXPECT_EQ(plan.find_argument("right_keys") != nullptr, right != 0);
  }
  EXPECT_TRUE(planned(merge_of(0, 0)).dispatches.empty());
}

TEST(MergePlan, FewItemsHaveNoPassForSplits) {
  MergeShape shape = merge_of(50, 49);
  shape.value = ElementType::u32();
  shape.left_count.read_on_device = true;
  shape.right_count.read_on_device = true;
  const MergeTuning tuning{.workgroup_size = 4, .items_per_thread = 3, .split_pass_items = 100};
  const Plan plan = planned(shape, least_traits(), tuning);
  EXPECT_EQ(roles_of(plan), "tiles");
  EXPECT_EQ(plan.scratch_bytes, 0u);
  expect_limits(plan, least_traits());
  shape.right_count.max = 50;
  EXPECT_EQ(roles_of(planned(shape, least_traits(), tuning)), "splits tiles");
}

TEST(MergePlan, KernelsDoNotDependOnCounts) {
  const auto text = [](std::uint64_t left, std::uint64_t right, std::size_t pass) {
    return planned(merge_of(left, right), gpu_traits()).dispatches.at(pass).kernel->text;
  };
  for (const std::size_t pass : {0u, 1u}) EXPECT_EQ(text(300'000, 0, pass), text(100'000'000, 50'000'000, pass));
  EXPECT_EQ(text(1, 0, 0), text(100'000, 100'000, 0));
}

TEST(MergePlan, NoPlanExceedsTheLeastLimits) {
  for (const std::uint32_t key_bytes : {4u, 12u, 16u, 64u, 400u, 4096u, 8000u}) {
    const std::string text = std::format("struct Big {{ words: array<u32, {}> }}", key_bytes / 4);
    MergeShape shape = merge_of(1000, 1000, *ElementType::structure("Big", text, key_bytes, key_bytes));
    shape.order = KeyOrder::less("first", "fn first(a: Big, b: Big) -> bool { return a.words[0] < b.words[0]; }");
    for (const std::optional<ElementType>& value :
         {std::optional<ElementType>{}, {ElementType::f16()}, {ElementType::u64()}, {Tally<9>::type()}}) {
      shape.value = value;
      for (const std::uint32_t items : {1u, 2u, 9u, 32u}) {
        SCOPED_TRACE(std::format("keys of {} bytes, {} items a thread", key_bytes, items));
        const Plan plan = planned(shape, least_traits(), MergeTuning{.workgroup_size = 256, .items_per_thread = items});
        for (const Dispatch& dispatch : plan.dispatches) {
          EXPECT_LE(dispatch.kernel->workgroup_bytes, 16384u);
          EXPECT_LE(std::ranges::count_if(dispatch.kernel->bindings,
                                          [](const auto& b) { return b.kind != BindingKind::uniform; }),
                    8);
        }
      }
    }
  }
  for (const ElementType& key : {ElementType::u32(), ElementType::f16(), ElementType::u64()}) {
    MergeShape shape = merge_of(1000, 1000, key);
    shape.value = ElementType::vec(Scalar::u32, 4);
    shape.left_count.read_on_device = true;
    shape.right_count.read_on_device = true;
    for (const std::uint32_t split_pass_items : {0u, 0xffffffffu}) {
      const MergeTuning tuning{.items_per_thread = 32, .split_pass_items = split_pass_items};
      expect_limits(planned(shape, least_traits(), tuning), least_traits());
    }
  }
}

TEST(MergePlan, RefusesWhatItCannotDo) {
  EXPECT_THAT(refusal(merge_of(10, 10, Parcel::type())), HasSubstr("A merge of Parcel needs an order"));
  EXPECT_THAT(refusal(merge_of(1u << 30, 1), ErrorKind::unsupported, gpu_traits()), HasSubstr("1073741824"));
  EXPECT_THAT(refusal(merge_of(20'000'000, 20'000'000), ErrorKind::unsupported), HasSubstr("134217728 bytes"));
  MergeShape shape =
      merge_of(10, 10, *ElementType::structure("Huge", "struct Huge { words: array<u32, 3000> }", 12000, 12000));
  shape.order = KeyOrder::less("first", "fn first(a: Huge, b: Huge) -> bool { return a.words[0] < b.words[0]; }");
  EXPECT_THAT(refusal(shape, ErrorKind::unsupported), HasSubstr("keys of 12000 bytes does not fit"));
  EXPECT_THAT(refusal(merge_of(10, 10), ErrorKind::invalid_request, least_traits(), MergeTuning{.workgroup_size = 1}),
              HasSubstr("out of range"));
  EXPECT_THAT(
      refusal(merge_of(10, 10), ErrorKind::invalid_request, least_traits(), MergeTuning{.items_per_thread = 33}),
      HasSubstr("out of range"));
}

TEST(MergePlan, ProfilesChangeThePlanByLimitsAlone) {
  const MergeShape shape = merge_of(100'000, 100'000);
  EXPECT_EQ(to_string(planned(shape, gpu_traits())), to_string(planned(shape, gpu_traits().without_subgroups())));
  EXPECT_EQ(to_string(planned(shape, emulated_traits())), to_string(planned(shape, least_traits())));
}

std::string golden_text() {
  std::string text;
  const auto add = [&](std::string_view title, const MergeShape& shape, const DeviceTraits& traits) {
    text += std::format("== {}\n{}\n", title, to_string(planned(shape, traits)));
  };
  add("1000 and no u32, least limits", merge_of(1000, 0), least_traits());
  MergeShape shape = merge_of(1 << 20, 3 << 20, Parcel::type());
  shape.order = Parcel::order();
  shape.value = ElementType::f16();
  shape.left_count.read_on_device = true;
  shape.right_count.read_on_device = true;
  add("at most 1M and 3M structs with f16, counts on the device, test GPU", shape, gpu_traits());
  return text;
}

TEST(MergePlan, GoldenPlansAreUnchanged) { expect_golden("merge", golden_text()); }

}  // namespace
}  // namespace upsweep::testing
