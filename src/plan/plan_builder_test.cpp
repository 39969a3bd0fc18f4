// SPDX-License-Identifier: Apache-2.0
#include "plan/plan_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "plan/grid.h"
#include "plan/kernel_builder.h"

namespace upsweep {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view copy_text =
    "struct P {\n"
    "  count: u32,\n"
    "  input_first: u32,\n"
    "  grid_width: u32,\n"
    "  grid_height: u32,\n"
    "}\n"
    "@group(0) @binding(0) var<uniform> params: P;\n"
    "@group(0) @binding(1) var<storage, read> input: array<u32>;\n"
    "@group(0) @binding(3) var<storage, read_write> output: array<u32>;\n"
    "@group(0) @binding(4) var<storage, read_write> partials: array<u32>;\n";

std::shared_ptr<Kernel> copy_kernel() {
  KernelBuilder builder("copy_tile");
  builder.workgroup(256, 1024).generated("test", copy_text);
  auto kernel = std::move(builder).build();
  if (!kernel) ADD_FAILURE() << kernel.error().message;
  return std::make_shared<Kernel>(kernel ? **kernel : Kernel{});
}

// A plan of one good pass; tests spoil one thing each.
struct OnePass {
  DeviceTraits traits;
  std::shared_ptr<Kernel> kernel = copy_kernel();
  std::uint64_t input_bytes = 4096;
  PlanBuilder::Step step{.kernel = {},
                         .workgroup_count = 5,
                         .bindings = {{"input", {SlotKind::argument, 0}, 0, 0, "input_first"},
                                      {"output", {SlotKind::argument, 1}},
                                      {"partials", {SlotKind::scratch, 0}}},
                         .params = {{"count", 1000}},
                         .reason = "for the test"};

  Result<Plan> plan() const {
    PlanBuilder builder("copy", traits);
    (void)builder.argument("input", input_bytes, 4);
    (void)builder.argument("output", 4096, 4);
    (void)builder.scratch("partials", 100);
    (void)builder.constant({});
    PlanBuilder::Step copy = step;
    copy.kernel = kernel;
    builder.dispatch(std::move(copy));
    return std::move(builder).finish();
  }
  std::string error() const {
    const auto made = plan();
    return made ? "accepted" : made.error().message;
  }
  PlanBuilder::Binding& binding(std::size_t index) { return step.bindings.at(index); }
};

std::uint32_t param(const Dispatch& dispatch, std::size_t field) {
  std::uint32_t value = 0;
  std::memcpy(&value, dispatch.params.data() + field * 4, 4);
  return value;
}

TEST(PlanBuilder, MakesADispatchWithEverythingBoundByName) {
  OnePass pass;
  pass.traits.max_workgroups_per_dimension = 4;
  const auto plan = pass.plan();
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_EQ(plan->dispatches.size(), 1u);
  const Dispatch& dispatch = plan->dispatches[0];
  EXPECT_EQ(dispatch.grid, (Grid{.x = 3, .y = 2, .z = 1, .indirect = {}}));
  EXPECT_EQ(param(dispatch, 0), 1000u);
  EXPECT_EQ(param(dispatch, 2), 3u);
  EXPECT_EQ(param(dispatch, 3), 2u);
  ASSERT_EQ(dispatch.bindings.size(), 3u);
  EXPECT_EQ(dispatch.bindings[0].binding, 1u);
  EXPECT_EQ(dispatch.bindings[0].first_item_field, 1u);
  EXPECT_EQ(dispatch.bindings[0].size_bytes, 4096u);
  EXPECT_EQ(dispatch.bindings[2].size_bytes, 112u);  // of scratch: up to a multiple of 16
  EXPECT_FALSE(plan->arguments[0].is_written);
  EXPECT_TRUE(plan->arguments[1].is_written);
  EXPECT_EQ(plan->scratch_bytes, 112u);
  EXPECT_EQ(plan->scratch_group_bytes, (std::array<std::uint64_t, scratch_group_count>{112}));
  EXPECT_NE(plan->find_argument("output"), nullptr);
  EXPECT_EQ(plan->find_argument("no_such"), nullptr);
}

TEST(PlanBuilder, AppendsAPlanWhoseArgumentsAreArgumentsOrScratch) {
  const auto inner = OnePass{}.plan();
  ASSERT_TRUE(inner) << inner.error().message;
  PlanBuilder builder("outer", DeviceTraits{});
  const SlotId source = builder.argument("source", 8192, 4);
  const SlotId between = builder.scratch("between", 8192, ScratchGroup::first);
  const SlotId result = builder.argument("result", 4096, 4);
  builder.append(*inner, std::array{PlanBuilder::Outer{"input", source}, PlanBuilder::Outer{"output", between}});
  builder.append(*inner, std::array{PlanBuilder::Outer{"input", between, 300}, PlanBuilder::Outer{"output", result}});
  const auto plan = std::move(builder).finish();
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_EQ(plan->dispatches.size(), 2u);
  ASSERT_EQ(plan->arguments.size(), 2u);
  EXPECT_FALSE(plan->arguments[0].is_written);
  EXPECT_TRUE(plan->arguments[1].is_written);
  EXPECT_EQ(plan->dispatches[0].bindings[0].slot, source);
  EXPECT_EQ(plan->dispatches[0].bindings[0].first_item_field, 1u);
  EXPECT_EQ(plan->dispatches[0].bindings[1].slot, between);
  // Of scratch the offset is known: bound from the last multiple of 256, the rest in the params.
  const BoundRange& read = plan->dispatches[1].bindings[0];
  EXPECT_EQ(read.slot, between);
  EXPECT_EQ(read.offset_bytes, 256u);
  EXPECT_EQ(read.size_bytes, 4096u + 44u);
  EXPECT_FALSE(read.first_item_field.has_value());
  EXPECT_EQ(param(plan->dispatches[1], 1), 11u);
  ASSERT_EQ(plan->scratch.size(), 3u);
  EXPECT_EQ(plan->scratch[0].first_step, 0u);
  EXPECT_EQ(plan->scratch[0].last_step, 1u);
  EXPECT_EQ(plan->scratch[1].last_step, 0u);
  EXPECT_EQ(plan->scratch[2].first_step, 1u);
  EXPECT_EQ(plan->constants.size(), 2u);
}

TEST(PlanBuilder, RefusesToAppendWhatDoesNotFit) {
  const auto inner = OnePass{}.plan();
  ASSERT_TRUE(inner) << inner.error().message;
  const auto error = [&](std::uint64_t bytes, std::uint32_t stride, ScratchGroup group, std::uint64_t offset,
                         std::string_view output) {
    PlanBuilder builder("outer", DeviceTraits{});
    const SlotId source = builder.scratch("source", bytes, group);
    const SlotId result = builder.argument("result", 4096, stride);
    builder.append(*inner, std::array{PlanBuilder::Outer{"input", source, offset}, PlanBuilder::Outer{output, result}});
    const auto plan = std::move(builder).finish();
    return plan ? std::string("accepted") : plan.error().message;
  };
  EXPECT_EQ(error(4096, 4, ScratchGroup::first, 0, "output"), "accepted");
  EXPECT_THAT(error(4096, 4, ScratchGroup::first, 0, "outputs"), HasSubstr("output is nothing here"));
  EXPECT_THAT(error(4096, 4, ScratchGroup::first, 4, "output"), HasSubstr("needs 4096 bytes from 4 on; its slot has"));
  EXPECT_THAT(error(4096, 8, ScratchGroup::first, 0, "output"), HasSubstr("Items of 8 bytes in result"));
  EXPECT_THAT(error(8192, 4, ScratchGroup::first, 2, "output"), HasSubstr("input cannot begin at 2"));
  EXPECT_THAT(error(4096, 4, ScratchGroup::working, 0, "output"), HasSubstr("read_write variables only, not to input"));
}

TEST(PlanBuilder, SaysWhichPassOfWhichPlanIsRefused) {
  OnePass pass;
  pass.step.params = {};
  EXPECT_THAT(pass.error(), HasSubstr("While planning pass 0 (copy_tile) of copy"));
}

TEST(PlanBuilder, RefusesBindingsThatTheKernelDoesNotHave) {
  OnePass pass;
  pass.binding(0).name = "inputs";
  EXPECT_THAT(pass.error(), HasSubstr("no storage binding inputs"));
  pass.binding(0).name = "params";
  EXPECT_THAT(pass.error(), HasSubstr("no storage binding params"));
}

TEST(PlanBuilder, RefusesBindingsLeftOutOrGivenTwice) {
  OnePass pass;
  pass.step.bindings.erase(pass.step.bindings.begin() + 1);
  EXPECT_THAT(pass.error(), HasSubstr("Binding output is given 0 times"));
  pass.step.bindings.insert(pass.step.bindings.end(), 2, {"output", {SlotKind::argument, 1}});
  EXPECT_THAT(pass.error(), HasSubstr("Binding output is given 2 times"));
}

TEST(PlanBuilder, RefusesParamsLeftOutOrUnknown) {
  OnePass pass;
  pass.step.params = {};
  EXPECT_THAT(pass.error(), HasSubstr("Params field count has no value"));
  pass.step.params = {{"count", 1}, {"counts", 2}};
  EXPECT_THAT(pass.error(), HasSubstr("no params field counts"));
  pass.step.params = {{"count", 1}};
  pass.binding(0).first_item_field = {};
  EXPECT_THAT(pass.error(), HasSubstr("Params field input_first has no value"));
}

TEST(PlanBuilder, RefusesWorkingScratchThatIsBoundForReadingOnly) {
  OnePass pass;
  pass.step.params.push_back({"input_first", 0});
  pass.binding(0) = {"input", {SlotKind::scratch, 0}};
  EXPECT_THAT(pass.error(), HasSubstr("may be bound to read_write variables only, not to input"));
}

TEST(PlanBuilder, RefusesADispatchThatReadsAndWritesReadableScratchOfOneGroup) {
  const auto made = [](ScratchGroup input, ScratchGroup output) {
    PlanBuilder builder("copy", DeviceTraits{});
    const SlotId from = builder.scratch("from", 4096, input);
    const SlotId to = builder.scratch("to", 4096, output);
    const SlotId partials = builder.scratch("partials", 100);
    builder.dispatch({.kernel = copy_kernel(),
                      .workgroup_count = 1,
                      .bindings = {{"input", from}, {"output", to}, {"partials", partials}},
                      .params = {{"count", 1000}, {"input_first", 0}},
                      .reason = {}});
    const auto plan = std::move(builder).finish();
    return plan ? std::string("accepted") : plan.error().message;
  };
  EXPECT_THAT(made(ScratchGroup::first, ScratchGroup::first), HasSubstr("reads scratch slot from and writes to"));
  EXPECT_EQ(made(ScratchGroup::first, ScratchGroup::second), "accepted");
  EXPECT_EQ(made(ScratchGroup::second, ScratchGroup::working), "accepted");
}

TEST(PlanBuilder, RefusesConstantsThatAKernelMayWrite) {
  OnePass pass;
  pass.binding(2) = {"partials", {SlotKind::constant, 0}};
  EXPECT_THAT(pass.error(), HasSubstr("Constants may be bound to read variables only, not to partials"));
}

TEST(PlanBuilder, RefusesWhatIsBeyondTheDevicesLimits) {
  {
    OnePass pass;
    pass.kernel->workgroup_size = 257;
    EXPECT_THAT(pass.error(), HasSubstr("A workgroup of 257 threads is larger than the device's limit (256)"));
    pass.traits.max_workgroup_size = 257;
    EXPECT_EQ(pass.error(), "accepted");
  }
  {
    OnePass pass;
    pass.kernel->workgroup_bytes = 16388;
    EXPECT_THAT(pass.error(), HasSubstr("Workgroup memory of 16388 bytes is larger than the device's limit (16384)"));
  }
  {
    OnePass pass;
    pass.traits.max_storage_buffers = 2;
    EXPECT_THAT(pass.error(), HasSubstr("3 storage buffers are more than the device's limit (2)"));
    pass.traits.max_storage_buffers = 3;
    EXPECT_EQ(pass.error(), "accepted");
  }
  {
    OnePass pass;
    pass.traits.max_binding_bytes = 4095;
    EXPECT_THAT(pass.error(), HasSubstr("input of 4096 bytes is larger than the device's limit of one binding (4095"));
    pass.traits.max_binding_bytes = 4096;
    EXPECT_EQ(pass.error(), "accepted");
  }
  {
    OnePass pass;
    pass.traits.max_workgroups_per_dimension = 1;
    EXPECT_THAT(pass.error(), HasSubstr("5 workgroups do not fit into three dimensions of at most 1"));
  }
  {
    OnePass pass;
    pass.traits.max_buffer_bytes = 111;
    EXPECT_THAT(pass.error(), HasSubstr("copy needs 112 bytes of scratch"));
    pass.traits.max_buffer_bytes = 112;
    EXPECT_EQ(pass.error(), "accepted");
  }
}

TEST(PlanBuilder, RefusesFeaturesThatTheDeviceLacks) {
  OnePass pass;
  pass.kernel->needs_subgroups = true;
  EXPECT_THAT(pass.error(), HasSubstr("needs the feature subgroups"));
  pass.traits.subgroups = true;
  EXPECT_EQ(pass.error(), "accepted");
  pass.kernel->needs_f16 = true;
  EXPECT_THAT(pass.error(), HasSubstr("shader-f16"));
  pass.traits.f16 = true;
  EXPECT_EQ(pass.error(), "accepted");
}

TEST(PlanBuilder, RefusesAPassWithoutWorkgroups) {
  OnePass pass;
  pass.step.workgroup_count = 0;
  EXPECT_THAT(pass.error(), HasSubstr("0 workgroups"));
}

TEST(PlanBuilder, RefusesRangesPastTheEndOfTheirSlot) {
  OnePass pass;
  pass.binding(1).offset_bytes = 256;
  pass.binding(1).size_bytes = 3844;
  EXPECT_THAT(pass.error(), HasSubstr("Range 256+3844 of binding output does not fit into its slot of 4096 bytes"));
  pass.binding(1).size_bytes = 3840;
  EXPECT_EQ(pass.error(), "accepted");
  pass.binding(1).offset_bytes = 4096;
  pass.binding(1).size_bytes = 0;
  EXPECT_THAT(pass.error(), HasSubstr("does not fit"));
}

TEST(PlanBuilder, RefusesUnalignedOffsetsThatNoFieldReports) {
  OnePass pass;
  pass.binding(0).offset_bytes = 4;
  EXPECT_EQ(pass.error(), "accepted");
  pass.binding(0).offset_bytes = 6;
  EXPECT_THAT(pass.error(), HasSubstr("cannot report its first item in input_first"));
  pass.binding(0).first_item_field = {};
  pass.step.params.push_back({"input_first", 0});
  pass.binding(0).offset_bytes = 4;
  EXPECT_THAT(pass.error(), HasSubstr("Offset 4 of binding input is not aligned"));
  pass.binding(0).offset_bytes = 256;
  EXPECT_EQ(pass.error(), "accepted");
  pass.binding(0).first_item_field = "no_such";
  EXPECT_THAT(pass.error(), HasSubstr("cannot report its first item in no_such"));
  pass.binding(0).first_item_field = {};
  pass.binding(2).first_item_field = "input_first";
  EXPECT_THAT(pass.error(), HasSubstr("Binding partials cannot report"));
}

TEST(PlanBuilder, KeepsTheFirstErrorOfSeveral) {
  OnePass good;
  PlanBuilder builder("copy", good.traits);
  PlanBuilder::Step first = good.step;
  first.kernel = good.kernel;
  first.params = {};
  first.bindings = {};
  PlanBuilder::Step second = first;
  second.workgroup_count = 0;
  builder.dispatch(std::move(first));
  builder.dispatch(std::move(second));
  const auto plan = std::move(builder).finish();
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().message, HasSubstr("Params field count"));
}

// ---- grids from a buffer ----

struct IndirectPasses {
  std::shared_ptr<Kernel> kernel = copy_kernel();
  std::uint64_t grid_offset = 0;
  SlotId grid_slot{SlotKind::scratch, 0};
  SlotId second_output{SlotKind::scratch, 1};
  bool writes_first = true;

  Result<Plan> plan() const {
    PlanBuilder builder("indirect", DeviceTraits{});
    (void)builder.argument("input", 64, 4);
    (void)builder.constant({});
    (void)builder.scratch("grid", 12);
    (void)builder.scratch("partials", 256);
    const SlotId sink = builder.scratch("sink", 16);
    const SlotId input{SlotKind::argument, 0};
    PlanBuilder::Step step{.kernel = kernel,
                           .workgroup_count = 1,
                           .bindings = {{"input", input, 0, 0, "input_first"},
                                        {"output", {SlotKind::scratch, 0}},
                                        {"partials", {SlotKind::scratch, 1}}},
                           .params = {{"count", 1}},
                           .reason = {}};
    if (writes_first) builder.dispatch(step);
    step.workgroup_count = 0;
    step.grid = Grid{.indirect = grid_slot, .indirect_offset_bytes = grid_offset};
    step.bindings[1].slot = second_output;
    step.bindings[2].slot = sink;
    builder.dispatch(step);
    return std::move(builder).finish();
  }
  std::string error() const {
    const auto made = plan();
    return made ? "accepted" : made.error().message;
  }
};

TEST(PlanBuilder, PutsGridsOfIndirectDispatchesIntoABufferOfTheirOwn) {
  const auto plan = IndirectPasses{}.plan();
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->scratch[0].group, ScratchGroup::grids);
  EXPECT_EQ(plan->scratch[1].group, ScratchGroup::working);
  EXPECT_EQ(plan->scratch[0].first_step, 0u);
  EXPECT_EQ(plan->scratch[0].last_step, 1u);
  EXPECT_EQ(plan->scratch[0].offset_bytes, 0u);
  EXPECT_EQ(plan->scratch[1].offset_bytes, 0u);
  EXPECT_EQ(plan->scratch_group_bytes, (std::array<std::uint64_t, scratch_group_count>{256 + 16, 16}));
  EXPECT_THAT(to_string(*plan), HasSubstr("grid from scratch.grid+0"));
}

TEST(PlanBuilder, RefusesGridsThatCannotBeReadOrWereNeverWritten) {
  IndirectPasses passes;
  passes.grid_offset = 4;
  EXPECT_EQ(passes.error(), "accepted");  // the slot was rounded up to 16 bytes
  passes.grid_offset = 8;
  EXPECT_THAT(passes.error(), HasSubstr("A grid cannot be read at 8 from a slot of 16 bytes"));
  passes.grid_offset = 2;
  EXPECT_THAT(passes.error(), HasSubstr("A grid cannot be read at 2"));
  passes.grid_offset = 0;
  passes.grid_slot = {SlotKind::constant, 0};
  EXPECT_THAT(passes.error(), HasSubstr("A grid cannot be read at 0"));
  passes.grid_slot = {SlotKind::scratch, 0};
  passes.writes_first = false;
  EXPECT_THAT(passes.error(), HasSubstr("No earlier pass writes the grid in grid"));
}

TEST(PlanBuilder, RefusesADispatchThatBindsTheSlotOfItsOwnGrid) {
  IndirectPasses passes;
  passes.second_output = {SlotKind::scratch, 0};
  EXPECT_THAT(passes.error(), HasSubstr("binds scratch slot grid, which holds a grid, too"));
}

// ---- scratch ----

TEST(Scratch, SlotsWhoseLivesDoNotMeetShareBytes) {
  std::vector<ScratchSlot> slots{{.name = "a", .size_bytes = 1000, .first_step = 0, .last_step = 1},
                                 {.name = "b", .size_bytes = 500, .first_step = 1, .last_step = 2},
                                 {.name = "c", .size_bytes = 900, .first_step = 2, .last_step = 3}};
  EXPECT_EQ(lay_out_scratch(slots, 256), 1524u);
  EXPECT_EQ(slots[0].offset_bytes, 0u);
  EXPECT_EQ(slots[1].offset_bytes, 1024u);
  EXPECT_EQ(slots[2].offset_bytes, 0u);
}

TEST(Scratch, TakesAGapOnlyIfTheSlotFits) {
  std::vector<ScratchSlot> slots{{.name = "a", .size_bytes = 256, .first_step = 0, .last_step = 0},
                                 {.name = "b", .size_bytes = 256, .first_step = 0, .last_step = 9},
                                 {.name = "c", .size_bytes = 257, .first_step = 1, .last_step = 9},
                                 {.name = "d", .size_bytes = 256, .first_step = 1, .last_step = 9}};
  EXPECT_EQ(lay_out_scratch(slots, 256), 512u + 257u);
  EXPECT_EQ(slots[2].offset_bytes, 512u);
  EXPECT_EQ(slots[3].offset_bytes, 0u);
}

TEST(Scratch, LivingSlotsNeverOverlapAndOffsetsAreAligned) {
  std::mt19937 random(3);
  for (int repetition = 0; repetition < 2000; ++repetition) {
    const std::uint64_t alignment = std::uint64_t{16} << random() % 5;
    std::vector<ScratchSlot> slots(random() % 12 + 1);
    for (ScratchSlot& slot : slots) {
      slot.size_bytes = random() % 2000 + 1;
      slot.first_step = random() % 8;
      slot.last_step = slot.first_step + random() % 4;
      slot.group = static_cast<ScratchGroup>(random() % scratch_group_count);
    }
    std::array<std::uint64_t, scratch_group_count> totals{};
    std::array<std::uint64_t, scratch_group_count> all_apart{};
    for (std::size_t group = 0; group < scratch_group_count; ++group) {
      totals.at(group) = lay_out_scratch(slots, alignment, static_cast<ScratchGroup>(group));
    }
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const ScratchSlot& a = slots[i];
      ASSERT_EQ(a.offset_bytes % alignment, 0u);
      const auto group = static_cast<std::size_t>(a.group);
      ASSERT_LE(a.offset_bytes + a.size_bytes, totals.at(group));
      all_apart.at(group) += align_up(a.size_bytes, alignment);
      for (std::size_t j = 0; j < i; ++j) {
        const ScratchSlot& b = slots[j];
        const bool live_together = a.first_step <= b.last_step && b.first_step <= a.last_step;
        if (a.group != b.group || !live_together) continue;
        ASSERT_TRUE(a.offset_bytes + a.size_bytes <= b.offset_bytes || b.offset_bytes + b.size_bytes <= a.offset_bytes);
      }
    }
    for (std::size_t group = 0; group < scratch_group_count; ++group) {
      ASSERT_LE(totals.at(group), all_apart.at(group));
    }
  }
}

TEST(Scratch, OfPassesThatHandOverPartialsDoesNotGrowWithTheirNumber) {
  const auto kernel = copy_kernel();
  PlanBuilder builder("chain", DeviceTraits{});
  const SlotId input = builder.argument("input", 4096, 4);
  const SlotId output = builder.argument("output", 4096, 4);
  SlotId previous = output;
  for (std::uint32_t pass = 0; pass < 9; ++pass) {
    const SlotId next = builder.scratch("partials", 1024);
    builder.dispatch({.kernel = kernel,
                      .workgroup_count = 1,
                      .bindings = {{"input", input, 0, 0, "input_first"}, {"output", previous}, {"partials", next}},
                      .params = {{"count", 1}},
                      .reason = {}});
    previous = next;
  }
  const auto plan = std::move(builder).finish();
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->scratch_bytes, 2048u);
  for (std::uint32_t pass = 0; pass < 9; ++pass) {
    EXPECT_EQ(plan->scratch[pass].first_step, pass);
    EXPECT_EQ(plan->scratch[pass].last_step, std::min(pass + 1, 8u));
  }
}

}  // namespace
}  // namespace upsweep
