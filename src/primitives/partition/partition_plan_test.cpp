// SPDX-License-Identifier: Apache-2.0
// Plans of partitions without a device: limits, paths, refusals, and the golden plans.
#include <format>
#include <set>
#include <string>
#include <vector>

#include "testing/operators_for_tests.h"
#include "testing/tile_plans.h"
#include "upsweep/partition.h"

namespace upsweep::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Plan planned(const PartitionShape& shape, const DeviceTraits& traits = least_traits(),
             std::optional<ScanTuning> tuning = std::nullopt, ScanOffsets offsets = {}) {
  auto plan = plan_partition(shape, traits, tuning, offsets);
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  return plan ? std::move(*plan) : Plan{};
}

std::string refusal(const PartitionShape& shape, const DeviceTraits& traits = least_traits(),
                    std::optional<ScanTuning> tuning = std::nullopt, ErrorKind kind = ErrorKind::invalid_request) {
  const auto plan = plan_partition(shape, traits, tuning);
  if (plan) return "no error";
  EXPECT_EQ(plan.error().kind, kind) << plan.error().message;
  return plan.error().message;
}

std::set<std::string> names_of_arguments(const Plan& plan) {
  std::set<std::string> names;
  for (const ArgumentSlot& argument : plan.arguments) names.insert(argument.name);
  return names;
}

PartitionShape partition(std::uint64_t count, ElementType input = ElementType::u32(),
                         Predicate first = Predicate::of("i % 2u == 0u")) {
  return {.item_count = Count::on_host(count), .input = std::move(input), .first = std::move(first)};
}

PartitionShape in_three(PartitionShape shape) {
  shape.second = Predicate::of("i % 3u == 0u");
  return shape;
}

TEST(PartitionWalk, EveryItemIsPlacedByOnePassThatKnowsTheTotals) {
  for (const auto& [traits, tuning] :
       {std::pair{least_traits(), fixed_tuning()}, {gpu_traits(), fixed_tuning()}, {least_traits(), tiny_tuning()}}) {
    for (const ElementType& type : {ElementType::u32(), ElementType::f16(), Tally<3>::type()}) {
      for (const std::uint64_t count : {1u, 4u, 9u, 33u, 4096u, 4097u, 8193u, 65537u}) {
        for (const PartitionShape& shape : {partition(count, type), in_three(partition(count, type))}) {
          SCOPED_TRACE(std::format("{} x {}", count, type.name));
          const Plan plan = planned(shape, traits, tuning);
          // Where the rest begins is known only when all is counted: even one chunk takes two passes.
          EXPECT_EQ(roles_of(plan), "totals chunks");
          expect_walk(plan, {.row_length = count, .stride_bytes = type.stride_bytes}, traits);
          expect_limits(plan, traits);
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST(PartitionLimits, NoTuningExceedsTheLeastLimits) {
  const DeviceTraits with_subgroups = gpu_traits().with_default_limits();
  for (const DeviceTraits& traits : {least_traits(), emulated_traits(), with_subgroups}) {
    for (const ElementType& type : {ElementType::u32(), ElementType::u64(), ElementType::vec(Scalar::f32, 4)}) {
      for (const std::uint32_t threads : {4u, 64u, 256u}) {
        for (const std::uint32_t loads : {1u, 2u, 5u, 8u, 16u}) {
          const ScanTuning tuning{.path = ScanPath::two_pass, .workgroup_size = threads, .rows = loads};
          for (const Predicate& first : {Predicate::of("i > 3u"), Predicate::flagged(FlagFormat::bits)}) {
            SCOPED_TRACE(std::format("{}, {} threads x {}", type.name, threads, loads));
            PartitionShape shape = partition(0, type, first);
            shape.item_count = Count::on_device(20'000);
            expect_limits(planned(shape, traits, tuning), traits);
            if (!first.flags) expect_limits(planned(in_three(shape), traits, tuning), traits);
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST(PartitionPlan, StatesTheBytesThatItMoves) {
  constexpr std::uint64_t count = 1 << 24;
  const Plan plan = planned(partition(count), gpu_traits(), fixed_tuning());
  EXPECT_EQ(plan.least_bytes, 8 * count);
  EXPECT_GE(plan.bytes_moved(), 12 * count);
  EXPECT_LE(plan.bytes_moved(), 12 * count + count / 100);
}

TEST(PartitionPlan, AsksForTheArgumentsOfItsShape) {
  using Names = std::set<std::string>;
  EXPECT_EQ(names_of_arguments(planned(partition(100))), (Names{"input", "output", "count"}));
  EXPECT_EQ(names_of_arguments(planned(partition(100, ElementType::u32(), Predicate::flagged()))),
            (Names{"input", "output", "count", "flags"}));
  EXPECT_EQ(planned(partition(100)).find_argument("count")->size_bytes, 4u);
  EXPECT_EQ(planned(in_three(partition(100))).find_argument("count")->size_bytes, 8u);
  EXPECT_EQ(names_of_arguments(planned(partition(0))), (Names{"count"}));
  EXPECT_EQ(roles_of(planned(partition(0))), "empty");
}

TEST(PartitionRefusals, RequestsThatMakeNoSenseAreRefused) {
  EXPECT_EQ(refusal(partition(10, ElementType::u32(), Predicate{})), "A partition needs a predicate or flags.");
  PartitionShape shape = partition(10);
  shape.second = Predicate::flagged();
  EXPECT_EQ(refusal(shape), "A partition into three parts needs two expressions.");
  EXPECT_EQ(refusal(in_three(partition(10, ElementType::u32(), Predicate::flagged()))),
            "A partition into three parts needs two expressions.");
  EXPECT_THAT(refusal(partition(10), gpu_traits(), fixed_tuning(ScanPath::single_pass)),
              HasSubstr("No single pass here: what comes last starts where the others end."));
  // By itself it takes two, whatever the self-test said.
  EXPECT_EQ(roles_of(planned(partition(1 << 20), gpu_traits())), "totals chunks");
}

TEST(PartitionRefusals, LimitsThatTheRequestBreaksAreNamed) {
  const auto refused = [](const PartitionShape& shape, const DeviceTraits& traits = least_traits()) {
    return refusal(shape, traits, std::nullopt, ErrorKind::unsupported);
  };
  EXPECT_THAT(refused(partition(0xffffffff)), AllOf(HasSubstr("4294967295 items"), HasSubstr("4294967294")));
  EXPECT_THAT(refused(partition(40'000'000)),
              AllOf(HasSubstr("needs its 40000000 items in one binding"), HasSubstr("134217728 bytes")));
  EXPECT_THAT(refused(partition(10, ElementType::f16()), DeviceTraits::webgpu_minimum()), HasSubstr("shader-f16"));
}

std::string golden_text() {
  std::string text;
  const auto add = [&](std::string_view title, const Plan& plan) {
    text += std::format("=== {}\n{}\n", title, to_string(plan));
  };
  add("100000 u32 into two parts, least limits", planned(partition(100'000), least_traits(), fixed_tuning()));
  PartitionShape counted = in_three(partition(0, ElementType::f32(), Predicate::of("x < 0.0")));
  counted.item_count = Count::on_device(1000);
  add("at most 1000 f32 into three parts, GPU", planned(counted, gpu_traits(), fixed_tuning()));
  return text;
}

TEST(PartitionPlan, GoldenPlansAreUnchanged) { expect_golden("partition", golden_text()); }

}  // namespace
}  // namespace upsweep::testing
