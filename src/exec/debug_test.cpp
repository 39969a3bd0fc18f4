// SPDX-License-Identifier: Apache-2.0
// Debug contexts keep every scratch slot after every pass.
#include <gmock/gmock.h>

#include "exec/plans_for_tests.h"
#include "upsweep/reduce.h"

namespace upsweep::testing {
namespace {

using ::testing::HasSubstr;

class Debug : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    auto created = Context::create({}, {.debug = true});
    ASSERT_TRUE(created) << created.error().message;
    debug_ = std::move(*created);
  }
  void TearDown() override {
    if (debug_ != nullptr) {
      while (const auto error = debug_->take_error()) ADD_FAILURE() << error->message;
    }
    debug_ = nullptr;
    GpuTest::TearDown();
  }
  std::unique_ptr<Context> debug_;
};
INSTANTIATE_TEST_SUITE_P(, Debug, ::testing::Values(Profile::full), profile_name);

// Four passes over slots of 4 words: each adds its operand to what it reads.
Plan adding_plan(const DeviceTraits& traits) {
  const auto kernel = make_kernel("add",
                                  "struct AddParams {\n  operand: u32,\n}\n"
                                  "@group(0) @binding(0) var<uniform> params: AddParams;\n"
                                  "@group(0) @binding(1) var<storage, read_write> source: array<u32>;\n"
                                  "@group(0) @binding(2) var<storage, read_write> sums: array<u32>;\n"
                                  "fn run(workgroup: Workgroup, thread: Thread) {\n"
                                  "  sums[thread.index] = source[thread.index] + params.operand;\n"
                                  "}\n");
  PlanBuilder plan("adding", traits);
  const SlotId input = plan.argument("input", 16, 4);
  const SlotId output = plan.argument("output", 16, 4);
  const SlotId a = plan.scratch("a", 16);
  const SlotId b = plan.scratch("b", 16);
  const SlotId c = plan.scratch("c", 16);
  const auto pass = [&](SlotId source, SlotId sums, std::uint32_t operand) {
    plan.dispatch({.kernel = kernel,
                   .workgroup_count = 1,
                   .bindings = {{"source", source}, {"sums", sums}},
                   .params = {{"operand", operand}},
                   .reason = {}});
  };
  pass(input, a, 1);
  pass(a, b, 10);
  pass(b, c, 100);  // c may take the bytes of a
  pass(c, output, 1000);
  auto finished = std::move(plan).finish();
  EXPECT_TRUE(finished) << (finished ? "" : finished.error().message);
  return finished ? std::move(*finished) : Plan{};
}

TEST_P(Debug, SnapshotsHoldEveryLivingSlotAfterEveryPass) {
  const Plan plan = adding_plan(debug_->traits());
  ASSERT_EQ(plan.scratch.at(2).offset_bytes, plan.scratch.at(0).offset_bytes) << "no slot is reused: a weak test";
  const BufferHandle input = make_buffer(*debug_, 16);
  const BufferHandle output = make_buffer(*debug_, 16);
  ASSERT_TRUE(debug_->write(input.get(), bytes_of(std::vector<std::uint32_t>{0, 1, 2, 3})));
  const Argument arguments[] = {{"input", input.get()}, {"output", output.get()}};
  ASSERT_EQ(message_of(submit(*debug_, [&](auto encoder) { return debug_->record(encoder, plan, arguments); })), "ok");
  EXPECT_EQ(read_words(*debug_, output.get(), 4), (std::vector<std::uint32_t>{1111, 1112, 1113, 1114}));

  const auto snapshots = debug_->debug_snapshots();
  ASSERT_TRUE(snapshots) << snapshots.error().message;
  struct Expected {
    std::uint32_t pass;
    std::string_view slot;
    std::uint32_t first_word;
  };
  const std::vector<Expected> expected{{0, "a", 1},  {1, "a", 1},   {1, "b", 11},
                                       {2, "b", 11}, {2, "c", 111}, {3, "c", 111}};
  ASSERT_EQ(snapshots->size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const DebugSnapshot& seen = (*snapshots)[i];
    EXPECT_EQ(seen.plan, "adding");
    EXPECT_EQ(seen.kernel, "add");
    EXPECT_EQ(seen.pass, expected[i].pass) << i;
    EXPECT_EQ(seen.slot, expected[i].slot) << i;
    const std::uint32_t first = expected[i].first_word;
    EXPECT_EQ(items_of<std::uint32_t>(seen.bytes), (std::vector<std::uint32_t>{first, first + 1, first + 2, first + 3}))
        << i;
  }
  EXPECT_TRUE(debug_->debug_snapshots()->empty());
}

TEST_P(Debug, PartialsOfAReductionAddUpAfterEveryPass) {
  constexpr std::uint32_t count = 1000;
  const ReduceShape shape{.item_count = Count::on_host(count), .input = ElementType::u32()};
  const ReduceTuning tuning{.workgroup_size = 4,
                            .units_per_thread = 2,
                            .single_pass = false,
                            .max_workgroups = 64,
                            .longest_chain = 3,
                            .one_workgroup_items = 8};
  const BufferHandle input = make_buffer(*debug_, count * 4);
  const BufferHandle output = make_buffer(*debug_, 4);
  ASSERT_TRUE(debug_->write(input.get(), bytes_of(std::vector<std::uint32_t>(count, 3))));
  ASSERT_EQ(message_of(submit(*debug_,
                              [&](auto encoder) {
                                return record_reduce(*debug_, encoder, shape,
                                                     {.input = input.get(), .output = output.get()}, tuning);
                              })),
            "ok");
  EXPECT_EQ(read_words(*debug_, output.get(), 1).at(0), 3 * count);
  const auto snapshots = debug_->debug_snapshots();
  ASSERT_TRUE(snapshots) << snapshots.error().message;
  std::uint32_t partials_seen = 0;
  for (const DebugSnapshot& seen : *snapshots) {
    if (!seen.slot.starts_with("partials")) continue;
    ++partials_seen;
    std::uint32_t total = 0;
    for (const std::uint32_t word : items_of<std::uint32_t>(seen.bytes)) total += word;
    EXPECT_EQ(total, 3 * count) << seen.slot << " after pass " << seen.pass;
  }
  EXPECT_GT(partials_seen, 1u);
}

TEST_P(Debug, RefusesAnOpenPassSinceItCopiesBetweenPasses) {
  const Plan plan = store_plan(debug_->traits(), 0, 1, 1);
  const BufferHandle output = make_buffer(*debug_, 4);
  const Argument argument{"output", output.get()};
  EXPECT_THAT(message_of(submit(*debug_,
                                [&](auto encoder) {
                                  const PassHandle pass(wgpuCommandEncoderBeginComputePass(encoder, nullptr));
                                  Status status = debug_->record(pass.get(), plan, {&argument, 1});
                                  wgpuComputePassEncoderEnd(pass.get());
                                  return status;
                                })),
              HasSubstr("records into encoders only"));
}

}  // namespace
}  // namespace upsweep::testing
