// SPDX-License-Identifier: Apache-2.0
// Plans of run-length encoding without a device: limits, paths, refusals, and the golden plans.
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

Plan planned(const RunLengthShape& shape, const DeviceTraits& traits = least_traits(),
             std::optional<ScanTuning> tuning = std::nullopt, ScanOffsets offsets = {}) {
  auto plan = plan_run_length(shape, traits, tuning, offsets);
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  return plan ? std::move(*plan) : Plan{};
}

std::string refusal(const RunLengthShape& shape, const DeviceTraits& traits = least_traits(),
                    std::optional<ScanTuning> tuning = std::nullopt, ErrorKind kind = ErrorKind::invalid_request) {
  const auto plan = plan_run_length(shape, traits, tuning);
  if (plan) return "no error";
  EXPECT_EQ(plan.error().kind, kind) << plan.error().message;
  return plan.error().message;
}

std::set<std::string> names_of_arguments(const Plan& plan) {
  std::set<std::string> names;
  for (const ArgumentSlot& argument : plan.arguments) names.insert(argument.name);
  return names;
}

RunLengthShape runs(std::uint64_t count, ElementType input = ElementType::u32()) {
  return {.item_count = Count::on_host(count), .input = std::move(input)};
}

RunLengthShape with_outputs(RunLengthShape shape, bool values, bool lengths, bool offsets, bool only_repeated = false) {
  shape.write_values = values;
  shape.write_lengths = lengths;
  shape.write_offsets = offsets;
  shape.only_repeated = only_repeated;
  return shape;
}

TEST(RunLengthWalk, EveryItemIsLookedAtByOnePass) {
  for (const auto& [traits, tuning] : {std::pair{least_traits(), fixed_tuning()},
                                       {gpu_traits(), fixed_tuning(ScanPath::single_pass)},
                                       {least_traits(), tiny_tuning()}}) {
    for (const ElementType& type : {ElementType::u32(), ElementType::f16(), ElementType::vec(Scalar::i32, 2)}) {
      for (const std::uint64_t count : {1u, 4u, 9u, 33u, 4096u, 4097u, 8193u, 65537u}) {
        for (const bool only_repeated : {false, true}) {
          SCOPED_TRACE(std::format("{} x {}, repeated {}", count, type.name, only_repeated));
          const Plan plan = planned(with_outputs(runs(count, type), true, true, true, only_repeated), traits, tuning);
          expect_walk(plan, {.row_length = count, .stride_bytes = type.stride_bytes}, traits);
          expect_limits(plan, traits);
          if (HasFailure()) return;
        }
      }
    }
  }
}

// Whether the item before begins a run shows in the one before that.
TEST(RunLengthWalk, AWindowSeesTheItemsBeforeIt) {
  const DeviceTraits traits = with_limits(0, 4096);
  for (const bool only_repeated : {false, true}) {
    RunLengthShape shape = with_outputs(runs(0), true, true, true, only_repeated);
    shape.item_count = Count::on_device(1024);
    const Plan plan = planned(shape, traits, tiny_tuning(), {.input_bytes = 4});
    EXPECT_EQ(roles_of(plan), "totals chunks totals chunks");
    expect_walk(plan, {.row_length = 1024, .offset_bytes = 4, .halo = only_repeated ? 2u : 1u}, traits);
    expect_limits(plan, traits);
  }
}

TEST(RunLengthLimits, NoTuningExceedsTheLeastLimits) {
  const DeviceTraits with_subgroups = gpu_traits().with_default_limits();
  for (const DeviceTraits& traits : {least_traits(), emulated_traits(), with_subgroups}) {
    for (const ElementType& type : {ElementType::u32(), ElementType::u64(), ElementType::vec(Scalar::f32, 4)}) {
      for (const ScanPath path : {ScanPath::two_pass, ScanPath::single_pass}) {
        for (const std::uint32_t threads : {4u, 64u, 256u}) {
          for (const std::uint32_t loads : {1u, 2u, 5u, 8u, 16u}) {
            for (const bool only_repeated : {false, true}) {
              SCOPED_TRACE(std::format("{}, {} threads x {}", type.name, threads, loads));
              RunLengthShape shape = with_outputs(runs(0, type), true, true, true, only_repeated);
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
}

TEST(RunLengthPlan, TakesTheSinglePassByItselfOnlyAfterTheSelfTest) {
  DeviceTraits traits = gpu_traits();
  EXPECT_EQ(roles_of(planned(runs(1 << 20), traits)), "single_pass");
  traits.look_back = false;
  EXPECT_EQ(roles_of(planned(runs(1 << 20), traits)), "totals chunks");
}

TEST(RunLengthPlan, EndsRunsInAPassOfItsOwnWhereThereAreManyTiles) {
  const DeviceTraits traits = gpu_traits();
  const ScanTuning tuning = fixed_tuning(ScanPath::single_pass);
  const std::uint64_t most = std::uint64_t{512} * tuning.workgroup_size * tuning.rows * 4;
  const auto roles = [&](const RunLengthShape& shape, const DeviceTraits& device) {
    return roles_of(planned(shape, device, tuning));
  };
  EXPECT_EQ(roles(runs(most), traits), "single_pass");
  EXPECT_EQ(roles(runs(most + 1), traits), "single_pass ends");
  EXPECT_EQ(roles(runs(most + 1, ElementType::u64()), traits), "single_pass");
  EXPECT_EQ(roles(with_outputs(runs(most + 1), true, false, true), traits), "single_pass");
  EXPECT_EQ(roles(with_outputs(runs(most + 1), true, true, true, true), traits), "single_pass");
  DeviceTraits few = traits;
  few.max_storage_buffers = 7;
  EXPECT_EQ(roles(runs(most + 1), few), "single_pass");
}

TEST(RunLengthPlan, StatesTheBytesThatItMoves) {
  constexpr std::uint64_t count = 1 << 24;
  const auto moved = [](const RunLengthShape& shape) {
    return planned(shape, gpu_traits(), fixed_tuning(ScanPath::single_pass)).bytes_moved();
  };
  // At most: every item is a run. Beside these two words a tile, written and read.
  const ScanTuning tuning = fixed_tuning();
  const std::uint64_t ends = 16 * ((count + 3) / (tuning.workgroup_size * tuning.rows * 4) + 1);
  EXPECT_EQ(moved(runs(count)), 12 * count + ends);
  EXPECT_EQ(moved(with_outputs(runs(count), false, false, false)), 4 * count);
  EXPECT_EQ(moved(with_outputs(runs(count), true, true, true)), 16 * count + ends);
}

TEST(RunLengthPlan, AsksForTheArgumentsOfItsShape) {
  using Names = std::set<std::string>;
  EXPECT_EQ(names_of_arguments(planned(runs(100))), (Names{"input", "values", "lengths", "count"}));
  EXPECT_EQ(names_of_arguments(planned(with_outputs(runs(100), false, false, true))),
            (Names{"input", "offsets", "count"}));
  EXPECT_EQ(names_of_arguments(planned(runs(0))), (Names{"count"}));
  EXPECT_EQ(roles_of(planned(runs(0))), "empty");
}

TEST(RunLengthRefusals, RequestsAndLimitsAreNamed) {
  EXPECT_EQ(refusal(runs(10, MinMax::type())),
            "Items of the struct MinMax need an equality: a WGSL expression of a and b.");
  const auto refused = [](const RunLengthShape& wanted) {
    return refusal(wanted, least_traits(), std::nullopt, ErrorKind::unsupported);
  };
  EXPECT_THAT(refused(runs(0xffffffff)), AllOf(HasSubstr("4294967295 items"), HasSubstr("4294967294")));
  EXPECT_THAT(refused(runs(40'000'000)), AllOf(HasSubstr("160000000 bytes"), HasSubstr("134217728 bytes")));
}

std::string golden_text() {
  std::string text;
  const auto add = [&](std::string_view title, const Plan& plan) {
    text += std::format("=== {}\n{}\n", title, to_string(plan));
  };
  add("100000 u32, least limits", planned(runs(100'000), least_traits(), fixed_tuning()));
  add("repeated runs of 1001000 f32 with offsets, single pass, GPU",
      planned(with_outputs(runs(1'001'000, ElementType::f32()), true, true, true, true), gpu_traits(),
              fixed_tuning(ScanPath::single_pass)));
  add("5000000 u32, single pass, GPU", planned(runs(5'000'000), gpu_traits(), fixed_tuning(ScanPath::single_pass)));
  return text;
}

TEST(RunLengthPlan, GoldenPlansAreUnchanged) { expect_golden("run_length", golden_text()); }

}  // namespace
}  // namespace upsweep::testing
