// SPDX-License-Identifier: Apache-2.0
// Plans of selections without a device: limits, paths, refusals, and the golden plans.
#include <format>
#include <set>
#include <string>
#include <vector>

#include "testing/operators_for_tests.h"
#include "testing/tile_plans.h"
#include "upsweep/select.h"

namespace upsweep::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

SelectShape selection(std::uint64_t count, ElementType input = ElementType::u32(),
                      Predicate predicate = Predicate::of("i % 2u == 0u")) {
  return {.item_count = Count::on_host(count), .input = std::move(input), .predicate = std::move(predicate)};
}

SelectShape with_outputs(SelectShape shape, bool items, bool indices, std::optional<std::uint32_t> threads = {}) {
  shape.write_items = items;
  shape.write_indices = indices;
  shape.dispatch_threads = threads;
  return shape;
}

Plan planned(const SelectShape& shape, const DeviceTraits& traits = least_traits(),
             std::optional<ScanTuning> tuning = std::nullopt, ScanOffsets offsets = {}) {
  auto plan = plan_select(shape, traits, tuning, offsets);
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  return plan ? std::move(*plan) : Plan{};
}

std::string refusal(const SelectShape& shape, const DeviceTraits& traits = least_traits(),
                    std::optional<ScanTuning> tuning = std::nullopt, ErrorKind kind = ErrorKind::invalid_request) {
  const auto plan = plan_select(shape, traits, tuning);
  if (plan) return "no error";
  EXPECT_EQ(plan.error().kind, kind) << plan.error().message;
  return plan.error().message;
}

TEST(SelectWalk, EveryItemIsLookedAtByOnePass) {
  for (const auto& [traits, tuning] : {std::pair{least_traits(), fixed_tuning()},
                                       {gpu_traits(), fixed_tuning(ScanPath::single_pass)},
                                       {least_traits(), tiny_tuning()},
                                       {least_traits(), tiny_tuning(ScanPath::single_pass)},
                                       {with_limits(3, 0), tiny_tuning()}}) {
    for (const ElementType& type : {ElementType::u32(), ElementType::f16(), ElementType::u64(), Tally<3>::type()}) {
      for (const std::uint64_t count : {1u, 3u, 4u, 8u, 9u, 31u, 33u, 255u, 4096u, 4097u, 8192u, 8193u, 65537u}) {
        for (const std::uint64_t first : {0u, 5u}) {
          const std::uint64_t offset = first * type.stride_bytes;
          SCOPED_TRACE(std::format("{} x {} from byte {}, {}", count, type.name, offset, to_string(tuning)));
          const auto plan = plan_select(selection(count, type), traits, tuning, {.input_bytes = offset});
          if (!plan) {
            EXPECT_EQ(traits.max_workgroups_per_dimension, 3u);
            EXPECT_THAT(plan.error().message, HasSubstr("do not fit into three dimensions"));
            continue;
          }
          expect_walk(*plan, {.row_length = count, .stride_bytes = type.stride_bytes, .offset_bytes = offset}, traits);
          expect_limits(*plan, traits);
          if (HasFailure()) return;
        }
      }
    }
  }
}

// Indices may need less than a binding where the items need more.
TEST(SelectWalk, WindowsCarryTheCount) {
  const SelectShape shape = with_outputs(selection(3000, ElementType::vec(Scalar::f32, 4)), false, true, 64);
  for (const ScanPath path : {ScanPath::two_pass, ScanPath::single_pass}) {
    const DeviceTraits traits = with_limits(0, 16384);
    const Plan plan = planned(shape, traits, fixed_tuning(path));
    EXPECT_THAT(roles_of(plan), HasSubstr(path == ScanPath::two_pass ? "chunks chunks" : "single_pass single_pass"));
    expect_walk(plan, {.row_length = 3000, .stride_bytes = 16}, traits);
    expect_limits(plan, traits);
    // The last one alone knows the count.
    for (const Dispatch& dispatch : plan.dispatches) {
      EXPECT_EQ(range_of(dispatch, "count") != nullptr, &dispatch == &plan.dispatches.back());
      EXPECT_EQ(range_of(dispatch, "dispatch_grid") != nullptr, &dispatch == &plan.dispatches.back());
      EXPECT_EQ(range_of(dispatch, "indices")->size_bytes, 12'000u);
    }
  }
}

TEST(SelectLimits, NoPlanExceedsTheLeastLimits) {
  const DeviceTraits with_subgroups = gpu_traits().with_default_limits();
  for (const DeviceTraits& traits : {least_traits(), emulated_traits(), with_subgroups}) {
    for (const ElementType& type :
         {ElementType::u32(), ElementType::f16(), ElementType::i64(), ElementType::vec(Scalar::f32, 4)}) {
      for (const Predicate& predicate : {Predicate::of("i > 3u"), Predicate::flagged(FlagFormat::bytes)}) {
        for (const auto& [items, indices] : {std::pair{true, false}, {false, true}, {true, true}, {false, false}}) {
          for (const ScanPath path : {ScanPath::two_pass, ScanPath::single_pass}) {
            for (const std::uint32_t threads : {4u, 64u, 256u}) {
              for (const std::uint32_t loads : {1u, 2u, 5u, 8u, 9u, 16u}) {
                SCOPED_TRACE(std::format("{}, items {}, indices {}, {} threads x {}", type.name, items, indices,
                                         threads, loads));
                SelectShape shape = with_outputs(selection(0, type, predicate), items, indices, 256);
                shape.item_count = Count::on_device(20'000);
                const Plan plan =
                    planned(shape, traits, ScanTuning{.path = path, .workgroup_size = threads, .rows = loads});
                expect_limits(plan, traits);
                if (HasFailure()) return;
              }
            }
          }
        }
      }
    }
  }
}

TEST(SelectPlan, TakesTheSinglePassByItselfOnlyAfterTheSelfTest) {
  DeviceTraits traits = gpu_traits();
  EXPECT_EQ(roles_of(planned(selection(1 << 20), traits)), "single_pass");
  // The order of integer sums does not show: structs, too, are counted.
  EXPECT_EQ(roles_of(planned(selection(1 << 20, MinMax::type(), Predicate::of("x.low > 0.0")), traits)), "single_pass");
  EXPECT_EQ(roles_of(planned(selection(1000), traits)), "chunks");
  traits.look_back = false;
  EXPECT_EQ(roles_of(planned(selection(1 << 20), traits)), "totals chunks");
}

TEST(SelectPlan, EachProfileChangesThePlan) {
  const Plan full = planned(selection(100'000), gpu_traits(), fixed_tuning());
  EXPECT_TRUE(full.dispatches[0].kernel->needs_subgroups);
  EXPECT_FALSE(planned(selection(100'000), gpu_traits().without_subgroups(), fixed_tuning())
                   .dispatches[0]
                   .kernel->needs_subgroups);
  EXPECT_THAT(planned(selection(100'000), emulated_traits(), fixed_tuning()).notes, Contains("emulated subgroups"));
  EXPECT_EQ(planned(selection(1000), gpu_traits(), tiny_tuning()).dispatches[0].grid.x, 32u);
  // minimum_limits: the grid of the next dispatch is folded to the device's own limit.
  DeviceTraits wide = gpu_traits();
  wide.max_workgroups_per_dimension = 1u << 20;
  const SelectShape shape = with_outputs(selection(1000), true, false, 64);
  EXPECT_THAT(planned(shape, wide).dispatches.back().kernel->text,
              HasSubstr("dispatch_arguments(workgroups, 1048576u)"));
  EXPECT_THAT(planned(shape, wide.with_default_limits()).dispatches.back().kernel->text,
              HasSubstr("dispatch_arguments(workgroups, 65535u)"));
}

TEST(SelectPlan, KernelTextsDoNotDependOnTheItemCount) {
  for (const ScanPath path : {ScanPath::two_pass, ScanPath::single_pass}) {
    std::set<std::string> texts;
    for (std::uint64_t count = 20'000; count < 0x3fffffff; count += count / 2) {
      for (const Dispatch& dispatch : planned(selection(count), gpu_traits(), fixed_tuning(path)).dispatches) {
        texts.insert(dispatch.kernel->text);
      }
    }
    EXPECT_EQ(texts.size(), path == ScanPath::two_pass ? 2u : 1u);
  }
}

TEST(SelectPlan, StatesTheBytesThatItMoves) {
  constexpr std::uint64_t count = 1 << 24;
  const auto moved = [](const SelectShape& shape, ScanPath path) {
    return planned(shape, gpu_traits(), fixed_tuning(path)).bytes_moved();
  };
  // At most: all items pass.
  EXPECT_EQ(moved(selection(count), ScanPath::single_pass), 8 * count);
  EXPECT_EQ(moved(with_outputs(selection(count), true, true), ScanPath::single_pass), 12 * count);
  EXPECT_EQ(moved(with_outputs(selection(count), false, false), ScanPath::single_pass), 4 * count);
  EXPECT_GE(moved(selection(count), ScanPath::two_pass), 12 * count);
  EXPECT_LE(moved(selection(count), ScanPath::two_pass), 12 * count + count / 100);
  EXPECT_EQ(planned(selection(count)).least_bytes, 4 * count);
}

TEST(SelectPlan, NothingToSelectFromWritesACountOfNothing) {
  const Plan plan = planned(with_outputs(selection(0), true, true, 64));
  EXPECT_EQ(roles_of(plan), "empty");
  ASSERT_EQ(plan.arguments.size(), 2u);
  EXPECT_EQ(plan.arguments[0].name, "count");
  EXPECT_EQ(plan.arguments[1].name, "dispatch_arguments");
  EXPECT_EQ(plan.arguments[1].size_bytes, 12u);
}

TEST(SelectPlan, AsksForTheArgumentsOfItsShape) {
  const auto names = [](const SelectShape& shape) {
    std::set<std::string> all;
    for (const ArgumentSlot& argument : planned(shape).arguments) all.insert(argument.name);
    return all;
  };
  using Names = std::set<std::string>;
  EXPECT_EQ(names(selection(100)), (Names{"input", "output", "count"}));
  EXPECT_EQ(names(with_outputs(selection(100), false, true)), (Names{"input", "indices", "count"}));
  EXPECT_EQ(names(selection(100, ElementType::u32(), Predicate::flagged())),
            (Names{"input", "output", "count", "flags"}));
  SelectShape shape = with_outputs(selection(0), true, false, 32);
  shape.item_count = Count::on_device(100);
  EXPECT_EQ(names(shape), (Names{"input", "output", "count", "item_count", "dispatch_arguments"}));
}

TEST(SelectRefusals, RequestsThatMakeNoSenseAreRefused) {
  EXPECT_EQ(refusal(selection(10, ElementType::u32(), Predicate{})), "A selection needs a predicate or flags.");
  EXPECT_EQ(refusal(with_outputs(selection(10), true, false, 0)), "A workgroup of 0 threads cannot be dispatched.");
  EXPECT_THAT(refusal(selection(10, ElementType::vec(Scalar::u32, 3))), HasSubstr("is no element type"));
  EXPECT_THAT(refusal(selection(10), least_traits(), ScanTuning{.rows = 17}), HasSubstr("Tuning out of range"));
  EXPECT_THAT(refusal(selection(10), DeviceTraits{.max_binding_bytes = 0}), HasSubstr("lack limits"));
}

TEST(SelectRefusals, LimitsThatTheRequestBreaksAreNamed) {
  const auto refused = [](const SelectShape& shape, const DeviceTraits& traits = least_traits(),
                          std::optional<ScanTuning> tuning = {}) {
    return refusal(shape, traits, tuning, ErrorKind::unsupported);
  };
  EXPECT_THAT(refused(selection(0xffffffff)), AllOf(HasSubstr("4294967295 items"), HasSubstr("4294967294")));
  // What passes may be anything, so the whole output must be bound.
  EXPECT_THAT(refused(selection(40'000'000)),
              AllOf(HasSubstr("output of 160000000 bytes"), HasSubstr("limit of one binding (134217728 bytes)")));
  EXPECT_THAT(refused(selection(10, ElementType::f16()), DeviceTraits::webgpu_minimum()), HasSubstr("shader-f16"));
  // All that a selection can have fits into eight buffers, but not with a count to carry from window to window.
  SelectShape all = with_outputs(selection(0, ElementType::u32(), Predicate::flagged()), true, true, 64);
  all.item_count = Count::on_device(1024);
  expect_limits(planned(all, with_limits(0, 4096), tiny_tuning()), with_limits(0, 4096));
  const auto late = plan_select(all, with_limits(0, 4096), tiny_tuning(), {.input_bytes = 4});
  ASSERT_FALSE(late.has_value());
  EXPECT_THAT(late.error().message, HasSubstr("9 storage buffers are more than the device's limit (8)"));
}

std::string golden_text() {
  std::string text;
  const auto add = [&](std::string_view title, const Plan& plan) {
    text += std::format("=== {}\n{}\n", title, to_string(plan));
  };
  add("1000 u32, least limits", planned(selection(1000), least_traits(), fixed_tuning()));
  add("1001000 f32 and their indices, single pass, GPU",
      planned(with_outputs(selection(1'001'000, ElementType::f32(), Predicate::of("x > 0.5")), true, true),
              gpu_traits(), fixed_tuning(ScanPath::single_pass)));
  SelectShape counted =
      with_outputs(selection(0, ElementType::u64(), Predicate::flagged(FlagFormat::bits)), true, false, 64);
  counted.item_count = Count::on_device(50'000);
  add("at most 50000 u64 by flags in bits, arguments of the next dispatch, two passes",
      planned(counted, least_traits(), fixed_tuning()));
  add("nothing", planned(selection(0), least_traits(), fixed_tuning()));
  return text;
}

TEST(SelectPlan, GoldenPlansAreUnchanged) { expect_golden("select", golden_text()); }

}  // namespace
}  // namespace upsweep::testing
