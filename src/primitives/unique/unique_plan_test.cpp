// SPDX-License-Identifier: Apache-2.0
// Plans of unique without a device: limits, paths, refusals, and the golden plans.
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

Plan planned(const UniqueShape& shape, const DeviceTraits& traits = least_traits(),
             std::optional<ScanTuning> tuning = std::nullopt, ScanOffsets offsets = {}) {
  auto plan = plan_unique(shape, traits, tuning, offsets);
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  return plan ? std::move(*plan) : Plan{};
}

std::string refusal(const UniqueShape& shape, const DeviceTraits& traits = least_traits(),
                    std::optional<ScanTuning> tuning = std::nullopt, ErrorKind kind = ErrorKind::invalid_request) {
  const auto plan = plan_unique(shape, traits, tuning);
  if (plan) return "no error";
  EXPECT_EQ(plan.error().kind, kind) << plan.error().message;
  return plan.error().message;
}

std::set<std::string> names_of_arguments(const Plan& plan) {
  std::set<std::string> names;
  for (const ArgumentSlot& argument : plan.arguments) names.insert(argument.name);
  return names;
}

UniqueShape unique(std::uint64_t count, ElementType input = ElementType::u32()) {
  return {.item_count = Count::on_host(count), .input = std::move(input)};
}

UniqueShape with_indices(UniqueShape shape) {
  shape.write_indices = true;
  return shape;
}

TEST(UniqueWalk, EveryItemIsLookedAtByOnePass) {
  for (const auto& [traits, tuning] : {std::pair{least_traits(), fixed_tuning()},
                                       {gpu_traits(), fixed_tuning(ScanPath::single_pass)},
                                       {least_traits(), tiny_tuning()}}) {
    for (const ElementType& type : {ElementType::u32(), ElementType::f16(), ElementType::vec(Scalar::i32, 2)}) {
      for (const std::uint64_t count : {1u, 4u, 9u, 33u, 4096u, 4097u, 8193u, 65537u}) {
        SCOPED_TRACE(std::format("{} x {}", count, type.name));
        const Plan plan = planned(unique(count, type), traits, tuning);
        expect_walk(plan, {.row_length = count, .stride_bytes = type.stride_bytes}, traits);
        expect_limits(plan, traits);
        if (HasFailure()) return;
      }
    }
  }
}

// The output must fit into one binding, so windows come only from an input that fills one and begins late.
TEST(UniqueWalk, AWindowSeesTheItemBeforeIt) {
  const DeviceTraits traits = with_limits(0, 4096);
  UniqueShape shape = with_indices(unique(0));
  shape.item_count = Count::on_device(1024);
  const Plan plan = planned(shape, traits, tiny_tuning(), {.input_bytes = 4});
  EXPECT_EQ(roles_of(plan), "totals chunks totals chunks");
  expect_walk(plan, {.row_length = 1024, .offset_bytes = 4, .halo = 1}, traits);
  expect_limits(plan, traits);
}

TEST(UniqueLimits, NoTuningExceedsTheLeastLimits) {
  const DeviceTraits with_subgroups = gpu_traits().with_default_limits();
  for (const DeviceTraits& traits : {least_traits(), emulated_traits(), with_subgroups}) {
    for (const ElementType& type : {ElementType::u32(), ElementType::u64(), ElementType::vec(Scalar::f32, 4)}) {
      for (const ScanPath path : {ScanPath::two_pass, ScanPath::single_pass}) {
        for (const std::uint32_t threads : {4u, 64u, 256u}) {
          for (const std::uint32_t loads : {1u, 2u, 5u, 8u, 16u}) {
            SCOPED_TRACE(std::format("{}, {} threads x {}", type.name, threads, loads));
            UniqueShape shape = with_indices(unique(0, type));
            shape.item_count = Count::on_device(20'000);
            expect_limits(planned(shape, traits, ScanTuning{.path = path, .workgroup_size = threads, .rows = loads}),
                          traits);
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST(UniquePlan, TakesTheSinglePassByItselfOnlyAfterTheSelfTest) {
  DeviceTraits traits = gpu_traits();
  EXPECT_EQ(roles_of(planned(unique(1 << 20), traits)), "single_pass");
  traits.look_back = false;
  EXPECT_EQ(roles_of(planned(unique(1 << 20), traits)), "totals chunks");
}

TEST(UniquePlan, StatesTheBytesThatItMoves) {
  constexpr std::uint64_t count = 1 << 24;
  EXPECT_EQ(planned(unique(count), gpu_traits(), fixed_tuning(ScanPath::single_pass)).bytes_moved(), 8 * count);
  EXPECT_EQ(planned(with_indices(unique(count)), gpu_traits(), fixed_tuning(ScanPath::single_pass)).bytes_moved(),
            12 * count);
}

TEST(UniquePlan, AsksForTheArgumentsOfItsShape) {
  using Names = std::set<std::string>;
  EXPECT_EQ(names_of_arguments(planned(unique(100))), (Names{"input", "output", "count"}));
  EXPECT_EQ(names_of_arguments(planned(with_indices(unique(100)))), (Names{"input", "output", "count", "indices"}));
  EXPECT_EQ(names_of_arguments(planned(unique(0))), (Names{"count"}));
  EXPECT_EQ(roles_of(planned(unique(0))), "empty");
}

TEST(UniqueRefusals, RequestsAndLimitsAreNamed) {
  EXPECT_EQ(refusal(unique(10, MinMax::type())),
            "Items of the struct MinMax need an equality: a WGSL expression of a and b.");
  UniqueShape shape = unique(10, MinMax::type());
  shape.equality = Equality::of("a.low == b.low");
  EXPECT_TRUE(plan_unique(shape, least_traits()).has_value());
  const auto refused = [](const UniqueShape& wanted) {
    return refusal(wanted, least_traits(), std::nullopt, ErrorKind::unsupported);
  };
  EXPECT_THAT(refused(unique(0xffffffff)), AllOf(HasSubstr("4294967295 items"), HasSubstr("4294967294")));
  EXPECT_THAT(refused(unique(40'000'000)), AllOf(HasSubstr("output of 160000000 bytes"), HasSubstr("134217728 bytes")));
}

std::string golden_text() {
  std::string text;
  const auto add = [&](std::string_view title, const Plan& plan) {
    text += std::format("=== {}\n{}\n", title, to_string(plan));
  };
  add("100000 u32, least limits", planned(unique(100'000), least_traits(), fixed_tuning()));
  add("1001000 f32 with indices, single pass, GPU",
      planned(with_indices(unique(1'001'000, ElementType::f32())), gpu_traits(), fixed_tuning(ScanPath::single_pass)));
  return text;
}

TEST(UniquePlan, GoldenPlansAreUnchanged) { expect_golden("unique", golden_text()); }

}  // namespace
}  // namespace upsweep::testing
