// SPDX-License-Identifier: Apache-2.0
// Recording: arguments, repetition, caches. The executor looks at no profile, so the device is seen as it is, except
// where a primitive is recorded.
#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>
#include <numeric>

#include "exec/plans_for_tests.h"
#include "upsweep/reduce.h"

namespace upsweep::testing {
namespace {

using ::testing::HasSubstr;

class Record : public GpuTest {};
INSTANTIATE_TEST_SUITE_P(, Record, ::testing::Values(Profile::full), profile_name);

class RecordReduce : public GpuTest {
 protected:
  [[nodiscard]] static ReduceShape sum_of(std::uint64_t count) {
    return {.item_count = Count::on_host(count), .input = ElementType::u32()};
  }
  // Sums 1, 2, 3, ... of the first `count` items into word `slot` of the output.
  Status record_sum(RecordTarget target, std::uint64_t count, std::uint64_t slot) {
    return record_reduce(context(), target, sum_of(count),
                         {.input = input_.get(), .output = BufferView(output_.get(), slot * 256, 4)}, reduce_tuning());
  }
  void SetUp() override {
    GpuTest::SetUp();
    input_ = make_buffer(context(), item_count * 4);
    output_ = make_buffer(context(), 2048 * 256);
    std::vector<std::uint32_t> items(item_count);
    std::iota(items.begin(), items.end(), 1u);
    EXPECT_EQ(message_of(context().write(input_.get(), bytes_of(items))), "ok");
  }
  void TearDown() override {
    input_ = {};
    output_ = {};
    GpuTest::TearDown();
  }
  [[nodiscard]] std::uint32_t result(std::uint64_t slot) {
    return read_words(context(), BufferView(output_.get(), slot * 256, 4), 1).at(0);
  }
  static std::uint32_t expected(std::uint32_t count) { return count * (count + 1) / 2; }

  static constexpr std::uint64_t item_count = 30000;
  BufferHandle input_;
  BufferHandle output_;
};
INSTANTIATE_TEST_SUITE_P(, RecordReduce, all_profiles, profile_name);

// ---- repetition ----

TEST_P(RecordReduce, AgainCreatesNothing) {
  ASSERT_EQ(message_of(submit(context(), [&](auto encoder) { return record_sum(encoder, 20000, 0); })), "ok");
  const ContextStatistics before = context().statistics();
  EXPECT_GT(before.pipelines_created, 0u);
  EXPECT_GT(before.bind_groups_created, 0u);
  for (int repetition = 0; repetition < 10; ++repetition) {
    ASSERT_EQ(message_of(submit(context(), [&](auto encoder) { return record_sum(encoder, 20000, 0); })), "ok");
  }
  const ContextStatistics& after = context().statistics();
  EXPECT_EQ(after.pipelines_created, before.pipelines_created);
  EXPECT_EQ(after.bind_groups_created, before.bind_groups_created);
  EXPECT_EQ(after.buffers_created, before.buffers_created);
  EXPECT_EQ(after.plans_made, before.plans_made);
  EXPECT_EQ(after.scratch_bytes, before.scratch_bytes);
  EXPECT_EQ(result(0), expected(20000));
}

TEST_P(RecordReduce, AnotherCountMakesNoNewPipeline) {
  ASSERT_EQ(message_of(submit(context(), [&](auto encoder) { return record_sum(encoder, 29000, 0); })), "ok");
  const std::uint64_t pipelines = context().statistics().pipelines_created;
  ASSERT_EQ(message_of(submit(context(), [&](auto encoder) { return record_sum(encoder, 29001, 0); })), "ok");
  EXPECT_EQ(context().statistics().pipelines_created, pipelines);
  EXPECT_EQ(result(0), expected(29001));
}

TEST_P(RecordReduce, OtherCountsInOneCommandBufferKeepTheirOwnParams) {
  const std::vector<std::uint32_t> counts{5, 9, 7, 20000, 5, 12345, 1, 9};
  ASSERT_EQ(message_of(submit(context(),
                              [&](auto encoder) {
                                Status status;
                                for (std::size_t i = 0; i < counts.size() && status; ++i) {
                                  status = record_sum(encoder, counts[i], i);
                                }
                                return status;
                              })),
            "ok");
  for (std::size_t i = 0; i < counts.size(); ++i) EXPECT_EQ(result(i), expected(counts[i])) << counts[i];
}

TEST_P(RecordReduce, ScratchThatGrowsBetweenRecordingsLeavesEarlierOnesRight) {
  const std::vector<std::uint32_t> counts{300, 30000, 2000};
  ASSERT_EQ(message_of(submit(context(),
                              [&](auto encoder) {
                                Status status;
                                for (std::size_t i = 0; i < counts.size() && status; ++i) {
                                  status = record_sum(encoder, counts[i], i);
                                }
                                return status;
                              })),
            "ok");
  for (std::size_t i = 0; i < counts.size(); ++i) EXPECT_EQ(result(i), expected(counts[i])) << counts[i];
}

TEST_P(RecordReduce, GoesIntoTheCallersPassBetweenHisOwnDispatches) {
  ASSERT_EQ(message_of(submit(context(),
                              [&](auto encoder) {
                                const PassHandle pass(wgpuCommandEncoderBeginComputePass(encoder, nullptr));
                                Status status = record_sum(pass.get(), 20000, 0);
                                if (status) status = record_sum(pass.get(), 100, 1);
                                wgpuComputePassEncoderEnd(pass.get());
                                return status;
                              })),
            "ok");
  EXPECT_EQ(result(0), expected(20000));
  EXPECT_EQ(result(1), expected(100));
}

TEST_P(RecordReduce, MorePlansThanTheCacheHoldsAreStillRight) {
  constexpr std::uint32_t plans = 1100;  // the cache is dropped at 1024
  const std::uint64_t made_before = context().statistics().plans_made;
  ASSERT_EQ(message_of(submit(context(),
                              [&](auto encoder) {
                                Status status;
                                for (std::uint32_t n = 1; n <= plans && status; ++n) status = record_sum(encoder, n, n);
                                return status;
                              })),
            "ok");
  EXPECT_EQ(context().statistics().plans_made, made_before + plans);
  const auto words = read_words(context(), output_.get(), (plans + 1) * 64);
  for (std::uint32_t n = 1; n <= plans; ++n) ASSERT_EQ(words[n * 64], expected(n)) << n;

  // The newest plan is kept; the first one was dropped.
  EXPECT_EQ(message_of(submit(context(), [&](auto encoder) { return record_sum(encoder, plans, 0); })), "ok");
  EXPECT_EQ(context().statistics().plans_made, made_before + plans);
  EXPECT_EQ(message_of(submit(context(), [&](auto encoder) { return record_sum(encoder, 1, 0); })), "ok");
  EXPECT_EQ(context().statistics().plans_made, made_before + plans + 1);
}

// ---- caches of the executor ----

TEST_P(Record, MoreParamsThanThePoolHoldsInOneCommandBufferAreAllSeen) {
  constexpr std::uint32_t stores = 16500;  // the pool is dropped at 16384 entries
  const BufferHandle output = make_buffer(context(), stores * 4);
  Plan plan = store_plan(context().traits(), 0, 0, stores);
  const Argument argument{"output", output.get()};
  const std::uint64_t groups_before = context().statistics().bind_groups_created;
  ASSERT_EQ(message_of(submit(context(),
                              [&](auto encoder) {
                                const PassHandle pass(wgpuCommandEncoderBeginComputePass(encoder, nullptr));
                                Status status;
                                for (std::uint32_t i = 0; i < stores && status; ++i) {
                                  const std::uint32_t params[] = {i, i * 7 + 1};
                                  std::memcpy(plan.dispatches[0].params.data(), params, sizeof params);
                                  status = context().record(pass.get(), plan, {&argument, 1});
                                }
                                wgpuComputePassEncoderEnd(pass.get());
                                return status;
                              })),
            "ok");
  EXPECT_EQ(context().statistics().bind_groups_created, groups_before + stores);
  const auto words = read_words(context(), output.get(), stores);
  for (std::uint32_t i = 0; i < stores; ++i) ASSERT_EQ(words[i], i * 7 + 1) << i;
}

TEST_P(Record, MoreBindGroupsThanTheCacheHoldsInOneCommandBufferAreAllRight) {
  constexpr std::uint32_t views = 4200;  // the cache is dropped at 1024 groups
  const BufferHandle output = make_buffer(context(), views * 256);
  const Plan plan = store_plan(context().traits(), 0, 42, 1);
  const auto record = [&](RecordTarget target, std::uint64_t i) {
    const Argument argument{"output", BufferView(output.get(), i * 256)};
    return context().record(target, plan, {&argument, 1});
  };
  const std::uint64_t created_before = context().statistics().bind_groups_created;
  ASSERT_EQ(message_of(submit(context(),
                              [&](auto encoder) {
                                Status status;
                                for (std::uint32_t i = 0; i < views && status; ++i) status = record(encoder, i);
                                // The last group is still there, the first was dropped.
                                EXPECT_EQ(context().statistics().bind_groups_created, created_before + views);
                                if (status) status = record(encoder, views - 1);
                                EXPECT_EQ(context().statistics().bind_groups_created, created_before + views);
                                if (status) status = record(encoder, 0);
                                EXPECT_EQ(context().statistics().bind_groups_created, created_before + views + 1);
                                return status;
                              })),
            "ok");
  const auto words = read_words(context(), output.get(), views * 64);
  for (std::uint32_t i = 0; i < views; ++i) ASSERT_EQ(words[i * 64], 42u) << i;
}

// Stores into `buffer`, which is all that the plan binds but its params; returns how many bind groups it took.
std::uint64_t groups_of_store(Context& context, const BufferHandle& buffer, std::uint64_t words) {
  const std::uint64_t before = context.statistics().bind_groups_created;
  const Plan plan = store_plan(context.traits(), 0, 42, words);
  const Argument argument{"output", buffer.get()};
  EXPECT_EQ(message_of(submit(context, [&](auto encoder) { return context.record(encoder, plan, {&argument, 1}); })),
            "ok");
  EXPECT_EQ(read_words(context, buffer.get(), 1).at(0), 42u);
  return context.statistics().bind_groups_created - before;
}

TEST_P(Record, GroupsOfBuffersThatAreNoLongerUsedAreDropped) {
  // Room for the constants (64 KiB) and two of the buffers.
  constexpr std::uint64_t words = 16384;
  const auto own = Context::adopt(
      context().device(),
      {.instance = context().instance(), .probe = false, .self_test = false, .kept_buffer_bytes = 3 * words * 4});
  ASSERT_TRUE(own) << own.error().message;
  std::vector<BufferHandle> buffers;
  for (int made = 0; made < 12; ++made) buffers.push_back(make_buffer(**own, words * 4));
  // The last four are kept, however large.
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(groups_of_store(**own, buffers[i], words), round == 0 ? 1u : 0u) << round << " " << i;
    }
  }
  for (const BufferHandle& buffer : std::span(buffers).subspan(4)) EXPECT_EQ(groups_of_store(**own, buffer, words), 1u);
  EXPECT_EQ(groups_of_store(**own, buffers[11], words), 0u);
  EXPECT_EQ(groups_of_store(**own, buffers[9], words), 0u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(groups_of_store(**own, buffers[i], words), 1u) << i;
}

TEST_P(Record, GroupsOfSmallBuffersStay) {
  std::vector<BufferHandle> buffers;
  for (int i = 0; i < 100; ++i) buffers.push_back(make_buffer(context(), 1024));
  for (const BufferHandle& buffer : buffers) EXPECT_EQ(groups_of_store(context(), buffer, 256), 1u);
  for (const BufferHandle& buffer : buffers) EXPECT_EQ(groups_of_store(context(), buffer, 256), 0u);
}

// ---- arguments ----

class Arguments : public GpuTest {
 protected:
  // Four words read, four written.
  [[nodiscard]] Plan copy_plan() const {
    static const std::shared_ptr<const Kernel> kernel =
        make_kernel("copy",
                    "struct CopyParams {\n  input_first: u32,\n  output_first: u32,\n}\n"
                    "@group(0) @binding(0) var<uniform> params: CopyParams;\n"
                    "@group(0) @binding(1) var<storage, read> input: array<u32>;\n"
                    "@group(0) @binding(2) var<storage, read_write> output: array<u32>;\n"
                    "fn run(workgroup: Workgroup, thread: Thread) {\n"
                    "  output[params.output_first + thread.index] = input[params.input_first + thread.index];\n"
                    "}\n");
    PlanBuilder plan("copy", context().traits());
    const SlotId input = plan.argument("input", 16, 4);
    const SlotId output = plan.argument("output", 16, 4);
    plan.dispatch({.kernel = kernel,
                   .workgroup_count = 1,
                   .bindings = {{"input", input, 0, 0, "input_first"}, {"output", output, 0, 0, "output_first"}},
                   .params = {},
                   .reason = {}});
    auto finished = std::move(plan).finish();
    EXPECT_TRUE(finished);
    return finished ? std::move(*finished) : Plan{};
  }
  Status copy(const BufferView& input, const BufferView& output) {
    const Argument arguments[] = {{"input", input}, {"output", output}};
    return submit(context(), [&](auto encoder) { return context().record(encoder, copy_plan(), arguments); });
  }
  void SetUp() override {
    GpuTest::SetUp();
    buffer_ = make_buffer(context(), 2048);
    std::vector<std::uint32_t> words(512);
    std::iota(words.begin(), words.end(), 0u);
    EXPECT_EQ(message_of(context().write(buffer_.get(), bytes_of(words))), "ok");
  }
  void TearDown() override {
    buffer_ = {};
    GpuTest::TearDown();
  }
  BufferHandle buffer_;
};
// Default limits: ranges are bound at multiples of 256 bytes, whatever the adapter could do.
INSTANTIATE_TEST_SUITE_P(, Arguments, ::testing::Values(Profile::minimum_limits), profile_name);

TEST_P(Arguments, MayBeDisjointRangesOfOneBufferAtAnyWord) {
  EXPECT_EQ(message_of(copy({buffer_.get(), 4}, {buffer_.get(), 1028, 16})), "ok");
  const auto words = read_words(context(), buffer_.get(), 512);
  for (std::uint32_t i = 0; i < 512; ++i) {
    EXPECT_EQ(words[i], i >= 257 && i < 261 ? i - 257 + 1 : i) << i;
  }
}

TEST_P(Arguments, NeedABuffer) {
  EXPECT_EQ(message_of(copy({}, buffer_.get())), "Argument input has no buffer.");
  const Argument only_input{"input", buffer_.get()};
  EXPECT_EQ(message_of(submit(context(),
                              [&](auto encoder) { return context().record(encoder, copy_plan(), {&only_input, 1}); })),
            "Argument output has no buffer.");
}

TEST_P(Arguments, NeedEnoughBytes) {
  const BufferHandle small = make_buffer(context(), 12);
  EXPECT_EQ(message_of(copy(small.get(), buffer_.get())), "Argument input has 12 bytes; the plan needs 16.");
  EXPECT_EQ(message_of(copy({buffer_.get(), 0, 12}, {buffer_.get(), 1024})),
            "Argument input has 12 bytes; the plan needs 16.");
  EXPECT_EQ(message_of(copy({buffer_.get(), 2036}, buffer_.get())), "Argument input has 12 bytes; the plan needs 16.");
  EXPECT_EQ(message_of(copy({buffer_.get(), 4096}, buffer_.get())), "Argument input has 0 bytes; the plan needs 16.");
}

TEST_P(Arguments, MustNotReachPastTheEndOfTheirBuffer) {
  EXPECT_EQ(message_of(copy({buffer_.get(), 2032, 20}, buffer_.get())),
            "View 2032+20 of argument input reaches past the end of its buffer (2048 bytes).");
  EXPECT_EQ(message_of(copy({buffer_.get(), ~std::uint64_t{0} - 3, 16}, buffer_.get())),
            "View 18446744073709551612+16 of argument input reaches past the end of its buffer (2048 bytes).");
}

TEST_P(Arguments, MustBeginAtAnItem) {
  EXPECT_EQ(message_of(copy({buffer_.get(), 2}, {buffer_.get(), 1024})),
            "Offset 2 of argument input is not a multiple of its item (4 bytes).");
}

TEST_P(Arguments, MustNotOverlap) {
  EXPECT_EQ(message_of(copy({buffer_.get(), 0, 16}, {buffer_.get(), 12, 16})),
            "Arguments input (bytes 0 to 16) and output (bytes 12 to 28) overlap in one buffer.");
  // Apart, but in one 256-byte block, which WebGPU cannot bind twice.
  EXPECT_THAT(message_of(copy({buffer_.get(), 0, 16}, {buffer_.get(), 16, 16})), HasSubstr("meet in a 256-byte block"));
}

TEST_P(Arguments, ThatAreRefusedLeaveTheEncoderAsItWas) {
  // Two passes; the second cannot be bound. Nothing of the first may reach the command buffer.
  const Plan first = copy_plan();
  Plan plan = first;
  plan.dispatches.push_back(first.dispatches[0]);
  plan.dispatches[1].bindings[0].first_item_field.reset();
  plan.dispatches[1].bindings[0].offset_bytes = 0;
  const Argument arguments[] = {{"input", {buffer_.get(), 4}}, {"output", {buffer_.get(), 1024}}};
  EXPECT_THAT(message_of(submit(context(),
                                [&](auto encoder) {
                                  const Status status = context().record(encoder, plan, arguments);
                                  EXPECT_EQ(status.error().kind, ErrorKind::invalid_request);
                                  return status;
                                })),
              HasSubstr("Offset 4 of argument input must be a multiple of 256.\n - While recording pass 1 (copy)"));
  EXPECT_EQ(read_words(context(), BufferView(buffer_.get(), 1024), 1)[0], 256u);
}

TEST_P(Arguments, NeedATargetToBeRecordedInto) {
  const Argument arguments[] = {{"input", buffer_.get()}, {"output", {buffer_.get(), 1024}}};
  EXPECT_THAT(message_of(context().record(static_cast<WGPUCommandEncoder>(nullptr), copy_plan(), arguments)),
              HasSubstr("neither an encoder nor a compute pass"));
}

// ---- helpers for buffers ----

TEST_P(Record, WritesAndReadsAtAnyLengthInsideTheBuffer) {
  const BufferHandle buffer = make_buffer(context(), 16);
  const std::vector<std::byte> ones(16, std::byte{1});
  ASSERT_EQ(message_of(context().write(buffer.get(), ones)), "ok");
  ASSERT_EQ(message_of(context().write({buffer.get(), 4}, std::vector<std::byte>(5, std::byte{2}))), "ok");
  const auto words = read_words(context(), buffer.get(), 4);
  EXPECT_EQ(words, (std::vector<std::uint32_t>{0x01010101, 0x02020202, 0x00000002, 0x01010101}));
  const auto bytes = context().read({buffer.get(), 7}, 3);
  ASSERT_TRUE(bytes) << bytes.error().message;
  EXPECT_EQ(*bytes, (std::vector<std::byte>{std::byte{2}, std::byte{2}, std::byte{0}}));
  EXPECT_TRUE(context().read(buffer.get(), 0)->empty());
}

TEST_P(Record, RefusesToWriteOrReadPastTheBuffer) {
  const BufferHandle buffer = make_buffer(context(), 16);
  const std::vector<std::byte> bytes(8);
  EXPECT_EQ(message_of(context().write({buffer.get(), 12}, bytes)),
            "8 bytes at 12 do not fit into a view of a buffer of 16 bytes.");
  EXPECT_EQ(message_of(context().write({buffer.get(), 2}, bytes)), "Writes begin at multiples of 4 bytes, not at 2.");
  EXPECT_EQ(context().read({buffer.get(), 12}, 8).error().message,
            "8 bytes at 12 do not fit into a view of a buffer of 16 bytes.");
  EXPECT_THAT(context().create_buffer(context().traits().max_buffer_bytes + 1).error().message,
              HasSubstr("is larger than the device's limit"));
}

// ---- memory ----

std::uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t total = 0;
  std::uint64_t resident = 0;
  statm >> total >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

class Memory : public RecordReduce {};
INSTANTIATE_TEST_SUITE_P(, Memory, ::testing::Values(Profile::full), profile_name);

TEST_P(Memory, StaysFlatOverAHundredThousandReductions) {
#if defined(__SANITIZE_ADDRESS__) || (defined(__has_feature) && __has_feature(address_sanitizer))
  // Freed blocks are kept to find late uses of them, so memory grows: the leak check at exit is the test there.
  constexpr bool keeps_freed_blocks = true;
#else
  constexpr bool keeps_freed_blocks = false;
#endif
  // 30 000 on SwiftShader, which takes seven times as long.
  const bool is_slow = keeps_freed_blocks || device_traits().adapter.contains("SwiftShader");
  const std::uint32_t batches = is_slow ? 300 : 1000;
  std::uint64_t early = 0;
  for (std::uint32_t batch = 0; batch < batches; ++batch) {
    ASSERT_EQ(message_of(submit(context(),
                                [&](auto encoder) {
                                  Status status;
                                  for (std::uint32_t i = 0; i < 100 && status; ++i) {
                                    status = record_sum(encoder, 1 + i * 3, i);
                                  }
                                  return status;
                                })),
              "ok");
    if (batch == batches / 10) early = resident_bytes();
  }
  const std::uint64_t late = resident_bytes();
  if (!keeps_freed_blocks) {
    EXPECT_LT(late, early + (std::uint64_t{4} << 20));
  }
  RecordProperty("growth_bytes", static_cast<std::int64_t>(late - early));
  EXPECT_EQ(result(99), expected(298));
}

}  // namespace
}  // namespace upsweep::testing
