// SPDX-License-Identifier: Apache-2.0
// Dispatches whose grid an earlier pass computes, and the WGSL fold of a workgroup count (dispatch_arguments.wgsl).
#include <algorithm>

#include "exec/plans_for_tests.h"
#include "plan/grid.h"

namespace upsweep::testing {
namespace {

class Indirect : public GpuTest {
 protected:
  // What a plan made the device do.
  struct Outcome {
    std::vector<std::uint32_t> grid;    // x, y, z
    std::vector<std::uint32_t> visits;  // of each item and of some after the last
    std::uint32_t workgroups_run = 0;
  };

  // Pass 0 reads the count of items from a buffer and writes the grid; pass 1 counts its visits to each item. The grid
  // is written twice, since a dispatch may not bind the buffer that its grid comes from.
  Plan visiting_plan(std::uint32_t limit, bool folds, std::uint64_t most_items) {
    const auto grid_kernel = make_kernel(
        folds ? "write_grid" : "write_naive_grid",
        std::string("struct GridParams {\n  limit: u32,\n  count_first: u32,\n}\n"
                    "@group(0) @binding(0) var<uniform> params: GridParams;\n"
                    "@group(0) @binding(1) var<storage, read> item_count: array<u32>;\n"
                    "@group(0) @binding(2) var<storage, read_write> grid: array<u32>;\n"
                    "@group(0) @binding(3) var<storage, read_write> extent: array<u32>;\n"
                    "fn run(workgroup: Workgroup, thread: Thread) {\n"
                    "  if (thread.index != 0u) { return; }\n"
                    "  let count = item_count[params.count_first];\n"
                    "  let groups = count / WORKGROUP_SIZE + select(0u, 1u, count % WORKGROUP_SIZE != 0u);\n") +
            (folds ? "  let size = dispatch_arguments(groups, params.limit);\n"
                   : "  let size = vec3u(groups, 1u, min(params.limit, 1u));\n") +
            "  grid[0] = size.x;\n  grid[1] = size.y;\n  grid[2] = size.z;\n"
            "  extent[0] = size.x;\n  extent[1] = size.y;\n  extent[2] = size.z;\n}\n",
        {"dispatch_arguments.wgsl"});
    const auto visit_kernel =
        make_kernel("visit",
                    "struct VisitParams {\n  count_first: u32,\n}\n"
                    "@group(0) @binding(0) var<uniform> params: VisitParams;\n"
                    "@group(0) @binding(1) var<storage, read> item_count: array<u32>;\n"
                    "@group(0) @binding(2) var<storage, read_write> extent: array<u32>;\n"
                    "@group(0) @binding(3) var<storage, read_write> visits: array<u32>;\n"
                    "@group(0) @binding(4) var<storage, read_write> workgroups_run: atomic<u32>;\n"
                    "@group(0) @binding(5) var<storage, read_write> grid_seen: array<u32>;\n"
                    "fn run(workgroup: Workgroup, thread: Thread) {\n"
                    "  if (thread.index == 0u) { atomicAdd(&workgroups_run, 1u); }\n"
                    "  if (all(workgroup.id == vec3u(0u)) && thread.index < 3u) { grid_seen[thread.index] = "
                    "extent[thread.index]; }\n"
                    "  let item = tile_index(workgroup.id, extent[0], extent[1]) * WORKGROUP_SIZE + thread.index;\n"
                    "  if (item < item_count[params.count_first]) { visits[item] += 1u; }\n"
                    "}\n",
                    {"grid.wgsl"});
    PlanBuilder plan("visit", context().traits());
    const SlotId item_count = plan.argument("item_count", 4, 4);
    const SlotId visits = plan.argument("visits", (most_items + 64) * 4, 4);
    const SlotId workgroups_run = plan.argument("workgroups_run", 4, 4);
    const SlotId grid_seen = plan.argument("grid_seen", 12, 4);
    const SlotId grid = plan.scratch("grid", 12);
    const SlotId extent = plan.scratch("extent", 12);
    plan.dispatch({.kernel = grid_kernel,
                   .workgroup_count = 1,
                   .bindings = {{"item_count", item_count, 0, 0, "count_first"}, {"grid", grid}, {"extent", extent}},
                   .params = {{"limit", limit}},
                   .reason = {}});
    plan.dispatch({.kernel = visit_kernel,
                   .grid = Grid{.indirect = grid},
                   .bindings = {{"item_count", item_count, 0, 0, "count_first"},
                                {"extent", extent},
                                {"visits", visits},
                                {"workgroups_run", workgroups_run},
                                {"grid_seen", grid_seen}},
                   .params = {},
                   .reason = {}});
    auto finished = std::move(plan).finish();
    EXPECT_TRUE(finished) << (finished ? "" : finished.error().message);
    return finished ? std::move(*finished) : Plan{};
  }

  Outcome visit(std::uint32_t count, std::uint32_t limit, bool folds = true) {
    const std::uint64_t words = std::uint64_t{count} + 64;
    const BufferHandle item_count = make_buffer(context(), 4);
    const BufferHandle visits = make_buffer(context(), words * 4);
    const BufferHandle workgroups_run = make_buffer(context(), 4);
    const BufferHandle grid_seen = make_buffer(context(), 12);
    EXPECT_TRUE(context().write(item_count.get(), bytes_of(std::vector<std::uint32_t>{count})));
    const Argument arguments[] = {{"item_count", item_count.get()},
                                  {"visits", visits.get()},
                                  {"workgroups_run", workgroups_run.get()},
                                  {"grid_seen", grid_seen.get()}};
    const Plan plan = visiting_plan(limit, folds, count);
    EXPECT_EQ(message_of(submit(context(), [&](auto encoder) { return context().record(encoder, plan, arguments); })),
              "ok");
    return {.grid = read_words(context(), grid_seen.get(), 3),
            .visits = read_words(context(), visits.get(), words),
            .workgroups_run = read_words(context(), workgroups_run.get(), 1).at(0)};
  }

  static std::uint64_t visited(const Outcome& outcome) {
    return static_cast<std::uint64_t>(std::ranges::count(outcome.visits, 1u));
  }
  // Each item once, nothing after the last.
  static void expect_each_once(const Outcome& outcome, std::uint32_t count) {
    std::vector<std::uint32_t> expected(outcome.visits.size(), 0);
    std::fill_n(expected.begin(), count, 1u);
    EXPECT_TRUE(outcome.visits == expected) << visited(outcome) << " of " << count << " items were visited once";
  }
};
INSTANTIATE_TEST_SUITE_P(, Indirect, ::testing::Values(Profile::full), profile_name);

TEST_P(Indirect, ReachesEveryItemOnceInUpToThreeDimensions) {
  for (const std::uint32_t limit : {2u, 3u}) {
    for (const std::uint32_t groups : {1u, limit - 1, limit, limit + 1, limit * limit, limit * limit + 1,
                                       limit * limit * limit - 1, limit * limit * limit}) {
      SCOPED_TRACE(::testing::Message() << groups << " workgroups under a limit of " << limit);
      DeviceTraits traits;
      traits.max_workgroups_per_dimension = limit;
      for (const std::uint32_t count : {groups * test_workgroup_size - 3, groups * test_workgroup_size}) {
        const Outcome outcome = visit(count, limit);
        expect_each_once(outcome, count);
        // The planner and the kernel fold alike.
        const auto grid = fold_grid(groups, traits);
        ASSERT_TRUE(grid);
        EXPECT_EQ(outcome.grid, (std::vector<std::uint32_t>{grid->x, grid->y, grid->z}));
        EXPECT_EQ(outcome.workgroups_run, grid->x * grid->y * grid->z);
      }
    }
  }
}

TEST_P(Indirect, RunsNoWorkgroupForNoItems) {
  for (const std::uint32_t limit : {2u, 65535u}) {
    const Outcome outcome = visit(0, limit);
    expect_each_once(outcome, 0);
    EXPECT_EQ(outcome.workgroups_run, 0u);
  }
}

TEST_P(Indirect, ReachesEveryItemOncePastTheRealLimit) {
  const std::uint32_t limit = context().traits().max_workgroups_per_dimension;
  ASSERT_LE(limit, 1u << 20) << "too many workgroups for this test";
  for (const std::uint32_t groups : {limit, limit + 1}) {
    SCOPED_TRACE(groups);
    const Outcome outcome = visit(groups * test_workgroup_size, limit);
    expect_each_once(outcome, groups * test_workgroup_size);
    EXPECT_EQ(outcome.grid[1], groups == limit ? 1u : 2u);
  }
}

// Shows that the test before can fail: a grid of x = 65 536 is past WebGPU's limit, and nothing runs.
TEST_P(Indirect, WithoutTheFoldNothingRunsPastTheRealLimit) {
  const std::uint32_t limit = context().traits().max_workgroups_per_dimension;
  const Outcome at_limit = visit(limit * test_workgroup_size, limit, false);
  expect_each_once(at_limit, limit * test_workgroup_size);
  const Outcome past_limit = visit((limit + 1) * test_workgroup_size, limit, false);
  EXPECT_EQ(visited(past_limit), 0u);
  EXPECT_EQ(past_limit.workgroups_run, 0u);
}

// The fold itself, at counts that no test can dispatch.
TEST_P(Indirect, FoldsInWgslAsThePlannerDoesAtAnyCount) {
  struct Case {
    std::uint32_t groups;
    std::uint32_t limit;
  };
  std::vector<Case> cases;
  for (const std::uint32_t limit : {1u, 2u, 7u, 255u, 1625u, 65535u, 65536u, 1000000u, 0x7FFFFFFFu}) {
    for (const std::uint32_t groups :
         {1u, 2u, 255u, 256u, 65535u, 65536u, 65537u, 131071u, 16777216u, 0x7FFFFFFFu, 0x80000000u, 0xFFFF0000u}) {
      DeviceTraits traits;
      traits.max_workgroups_per_dimension = limit;
      if (fold_grid(groups, traits)) cases.push_back({groups, limit});
    }
  }
  ASSERT_GT(cases.size(), 60u);
  const auto kernel = make_kernel("fold",
                                  "struct FoldParams {\n  case_count: u32,\n}\n"
                                  "@group(0) @binding(0) var<uniform> params: FoldParams;\n"
                                  "@group(0) @binding(1) var<storage, read> cases: array<vec2u>;\n"
                                  "@group(0) @binding(2) var<storage, read_write> grids: array<vec4u>;\n"
                                  "fn run(workgroup: Workgroup, thread: Thread) {\n"
                                  "  let i = workgroup.id.x * WORKGROUP_SIZE + thread.index;\n"
                                  "  if (i >= params.case_count) { return; }\n"
                                  "  grids[i] = vec4u(dispatch_arguments(cases[i].x, cases[i].y), 0u);\n"
                                  "}\n",
                                  {"dispatch_arguments.wgsl"});
  PlanBuilder builder("fold", context().traits());
  const SlotId in = builder.argument("cases", cases.size() * 8, 8);
  const SlotId out = builder.argument("grids", cases.size() * 16, 16);
  builder.dispatch({.kernel = kernel,
                    .workgroup_count = div_ceil(cases.size(), test_workgroup_size),
                    .bindings = {{"cases", in}, {"grids", out}},
                    .params = {{"case_count", static_cast<std::uint32_t>(cases.size())}},
                    .reason = {}});
  const auto plan = std::move(builder).finish();
  ASSERT_TRUE(plan) << plan.error().message;
  const BufferHandle input = make_buffer(context(), cases.size() * 8);
  const BufferHandle output = make_buffer(context(), cases.size() * 16);
  ASSERT_TRUE(context().write(input.get(), bytes_of(cases)));
  const Argument arguments[] = {{"cases", input.get()}, {"grids", output.get()}};
  ASSERT_EQ(message_of(submit(context(), [&](auto encoder) { return context().record(encoder, *plan, arguments); })),
            "ok");
  const auto words = read_words(context(), output.get(), cases.size() * 4);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    DeviceTraits traits;
    traits.max_workgroups_per_dimension = cases[i].limit;
    const Grid grid = *fold_grid(cases[i].groups, traits);
    EXPECT_EQ((std::vector<std::uint32_t>{words[i * 4], words[i * 4 + 1], words[i * 4 + 2]}),
              (std::vector<std::uint32_t>{grid.x, grid.y, grid.z}))
        << cases[i].groups << " under " << cases[i].limit;
  }
}

TEST_P(Indirect, ReadsAGridThatTheCallerGives) {
  const auto kernel = make_kernel("count_groups",
                                  "@group(0) @binding(1) var<storage, read_write> total: atomic<u32>;\n"
                                  "fn run(workgroup: Workgroup, thread: Thread) {\n"
                                  "  if (thread.index == 0u) { atomicAdd(&total, 1u); }\n"
                                  "}\n");
  PlanBuilder builder("count_groups", context().traits());
  const SlotId total = builder.argument("total", 4, 4);
  const SlotId grid = builder.argument("grid", 16, 4);
  builder.dispatch({.kernel = kernel,
                    .grid = Grid{.indirect = grid, .indirect_offset_bytes = 4},
                    .bindings = {{"total", total}},
                    .params = {},
                    .reason = {}});
  const auto plan = std::move(builder).finish();
  ASSERT_TRUE(plan) << plan.error().message;
  WGPUBufferDescriptor descriptor = WGPU_BUFFER_DESCRIPTOR_INIT;
  descriptor.size = 32;
  descriptor.usage = WGPUBufferUsage_Indirect | WGPUBufferUsage_CopyDst;
  const BufferHandle grid_buffer(wgpuDeviceCreateBuffer(context().device(), &descriptor));
  const BufferHandle total_buffer = make_buffer(context(), 4);
  ASSERT_TRUE(context().write({grid_buffer.get(), 8}, bytes_of(std::vector<std::uint32_t>{99, 2, 3, 5})));
  const Argument arguments[] = {{"total", total_buffer.get()}, {"grid", {grid_buffer.get(), 8}}};
  ASSERT_EQ(message_of(submit(context(), [&](auto encoder) { return context().record(encoder, *plan, arguments); })),
            "ok");
  EXPECT_EQ(read_words(context(), total_buffer.get(), 1).at(0), 30u);
}

}  // namespace
}  // namespace upsweep::testing
