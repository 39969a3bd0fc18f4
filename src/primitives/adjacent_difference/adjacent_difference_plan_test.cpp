// SPDX-License-Identifier: Apache-2.0
// Plans of adjacent differences without a device: limits, paths, refusals, and the golden plans.
#include <format>
#include <set>
#include <string>
#include <vector>

#include "testing/operators_for_tests.h"
#include "testing/tile_plans.h"
#include "upsweep/adjacent_difference.h"

namespace upsweep::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Plan planned(const AdjacentDifferenceShape& shape, const DeviceTraits& traits = least_traits(),
             std::optional<ScanTuning> tuning = std::nullopt, ScanOffsets offsets = {}) {
  auto plan = plan_adjacent_difference(shape, traits, tuning, offsets);
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  return plan ? std::move(*plan) : Plan{};
}

std::string refusal(const AdjacentDifferenceShape& shape, const DeviceTraits& traits = least_traits(),
                    std::optional<ScanTuning> tuning = std::nullopt, ErrorKind kind = ErrorKind::invalid_request) {
  const auto plan = plan_adjacent_difference(shape, traits, tuning);
  if (plan) return "no error";
  EXPECT_EQ(plan.error().kind, kind) << plan.error().message;
  return plan.error().message;
}

std::set<std::string> names_of_arguments(const Plan& plan) {
  std::set<std::string> names;
  for (const ArgumentSlot& argument : plan.arguments) names.insert(argument.name);
  return names;
}

AdjacentDifferenceShape difference(std::uint64_t count, ElementType input = ElementType::u32()) {
  return {.item_count = Count::on_host(count), .input = std::move(input)};
}

TEST(AdjacentDifferenceWalk, EveryItemIsStoredByTheOnePass) {
  for (const DeviceTraits& traits : {least_traits(), gpu_traits(), with_limits(0, 4096)}) {
    for (const ScanTuning& tuning : {fixed_tuning(), tiny_tuning()}) {
      for (const ElementType& type :
           {ElementType::u32(), ElementType::f16(), ElementType::u64(), ElementType::vec(Scalar::f32, 4)}) {
        for (const std::uint64_t count : {1u, 4u, 9u, 33u, 4096u, 4097u, 8193u, 65537u}) {
          for (const std::uint64_t first : {0u, 3u}) {
            const std::uint64_t offset = first * type.stride_bytes;
            SCOPED_TRACE(std::format("{} x {} from byte {}", count, type.name, offset));
            const Plan plan =
                planned(difference(count, type), traits, tuning, {.input_bytes = offset, .output_bytes = offset});
            expect_walk(plan,
                        {.row_length = count, .stride_bytes = type.stride_bytes, .offset_bytes = offset, .halo = 1},
                        traits);
            expect_limits(plan, traits);
            EXPECT_EQ(plan.scratch_bytes, 0u);
            EXPECT_EQ(roles_of(plan) == "map", plan.dispatches.size() == 1);
            EXPECT_TRUE(plan.dispatches.size() == 1 || traits.max_binding_bytes == 4096);
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST(AdjacentDifferenceWalk, HugeInputsAreWalkedWindowByWindow) {
  for (const DeviceTraits& traits : {least_traits(), gpu_traits()}) {
    for (const std::uint64_t count : {0x7fffffffull, 0x80000001ull, 0xfffffffeull}) {
      SCOPED_TRACE(count);
      const Plan plan = planned(difference(count), traits, fixed_tuning());
      expect_walk(plan, {.row_length = count, .halo = 1}, traits);
      expect_limits(plan, traits);
    }
  }
}

TEST(AdjacentDifferencePlan, ReadsAndWritesEveryItemOnce) {
  constexpr std::uint64_t count = 1 << 24;
  const Plan plan = planned(difference(count), gpu_traits());
  EXPECT_EQ(plan.bytes_moved(), 8 * count);
  EXPECT_EQ(plan.least_bytes, 8 * count);
  EXPECT_TRUE(plan.states.empty());
}

TEST(AdjacentDifferencePlan, TakesTheSamePassWhateverPathIsAskedFor) {
  for (const ScanPath path : {ScanPath::automatic, ScanPath::two_pass, ScanPath::single_pass}) {
    EXPECT_EQ(roles_of(planned(difference(100'000), gpu_traits(), fixed_tuning(path))), "map");
  }
}

TEST(AdjacentDifferencePlan, AsksForTheArgumentsOfItsShape) {
  using Names = std::set<std::string>;
  EXPECT_EQ(names_of_arguments(planned(difference(100))), (Names{"input", "output"}));
  EXPECT_TRUE(planned(difference(0)).arguments.empty());
  EXPECT_TRUE(planned(difference(0)).dispatches.empty());
}

TEST(AdjacentDifferenceRefusals, RequestsAndLimitsAreNamed) {
  EXPECT_EQ(refusal(difference(10, MinMax::type())), "Items of the struct MinMax need an expression of x and before.");
  AdjacentDifferenceShape shape = difference(10, MinMax::type());
  shape.expression = "MinMax(before.low, x.high)";
  EXPECT_TRUE(plan_adjacent_difference(shape, least_traits()).has_value());
  EXPECT_THAT(refusal(difference(0xffffffff), least_traits(), std::nullopt, ErrorKind::unsupported),
              AllOf(HasSubstr("4294967295 items"), HasSubstr("4294967294")));
  EXPECT_THAT(
      refusal(difference(10, ElementType::f16()), DeviceTraits::webgpu_minimum(), std::nullopt, ErrorKind::unsupported),
      HasSubstr("shader-f16"));
}

std::string golden_text() {
  std::string text;
  const auto add = [&](std::string_view title, const Plan& plan) {
    text += std::format("=== {}\n{}\n", title, to_string(plan));
  };
  add("100000 f32, least limits", planned(difference(100'000, ElementType::f32()), least_traits(), fixed_tuning()));
  add("300 i32, bindings of 1000 bytes",
      planned(difference(300, ElementType::i32()), with_limits(0, 1000), fixed_tuning()));
  return text;
}

TEST(AdjacentDifferencePlan, GoldenPlansAreUnchanged) { expect_golden("adjacent_difference", golden_text()); }

}  // namespace
}  // namespace upsweep::testing
