// SPDX-License-Identifier: Apache-2.0
// Plans of PageRank without a device: passes, traffic, limits, refusals.
#include <format>
#include <limits>

#include "testing/tile_plans.h"
#include "upsweep/pagerank.h"

namespace upsweep::testing {
namespace {

using ::testing::HasSubstr;

static_assert(sizeof(PagerankState) == 32);

PagerankShape shape_of(std::uint32_t nodes, std::uint32_t edges) {
  return {.incoming = {.values = SparseValues::ones,
                       .row_count = nodes,
                       .column_count = nodes,
                       .entry_count = edges,
                       .longest_row = 5}};
}

Plan planned(const Result<Plan>& plan) {
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  return plan ? *plan : Plan{};
}

std::string names_of(const Plan& plan) {
  std::string names;
  for (const Dispatch& dispatch : plan.dispatches) names += (names.empty() ? "" : " ") + dispatch.kernel->name;
  return names;
}

std::string refusal(const Result<Plan>& plan, ErrorKind kind = ErrorKind::invalid_request) {
  if (plan) return "no error";
  EXPECT_EQ(plan.error().kind, kind) << plan.error().message;
  return plan.error().message;
}

TEST(PagerankPlan, AnIterationIsAProductAndOnePass) {
  const PagerankShape shape = shape_of(100'000, 500'000);
  EXPECT_EQ(names_of(planned(plan_pagerank_steps(shape, 2, gpu_traits()))),
            "spmv_rows pagerank_step spmv_rows pagerank_step pagerank_end");
  EXPECT_EQ(names_of(planned(plan_pagerank_start(shape, gpu_traits()))), "pagerank_start pagerank_end");
  EXPECT_EQ(planned(plan_pagerank_start(shape, gpu_traits())).find_argument("columns"), nullptr);
  EXPECT_EQ(planned(plan_pagerank_steps(shape, 2, gpu_traits())).find_argument("values"), nullptr);
  EXPECT_TRUE(planned(plan_pagerank_steps(shape, 0, gpu_traits())).dispatches.empty());
  EXPECT_TRUE(planned(plan_pagerank_steps(shape_of(0, 0), 3, gpu_traits())).dispatches.empty());
  EXPECT_EQ(names_of(planned(plan_pagerank_start(shape_of(0, 0), gpu_traits()))), "pagerank_end");
}

// Sums lie in two places by turns, and the last pass reads those that the last iteration wrote.
TEST(PagerankPlan, EveryPassReadsTheSumsOfTheOneBefore) {
  for (const std::uint32_t iterations : {1u, 2u, 3u, 8u}) {
    const Plan plan = planned(plan_pagerank_steps(shape_of(100'000, 500'000), iterations, gpu_traits()));
    std::optional<SlotId> written;
    for (const Dispatch& dispatch : plan.dispatches) {
      const BoundRange* in = range_of(dispatch, "partials_in");
      if (in == nullptr) continue;
      EXPECT_EQ(param_of(dispatch, "partial_count") != 0, written.has_value());
      if (written) {
        EXPECT_EQ(in->slot, *written);
      }
      const BoundRange* out = range_of(dispatch, "partials_out");
      if (out == nullptr) continue;
      EXPECT_NE(out->slot, in->slot);
      written = out->slot;
    }
    EXPECT_TRUE(is_role(plan.dispatches.back(), "end"));
  }
}

TEST(PagerankPlan, EdgesMoveOnceAndVectorsSevenTimes) {
  const Plan plan = planned(plan_pagerank_steps(shape_of(100'000, 500'000), 3, gpu_traits()));
  const std::uint64_t product = plan.dispatches[0].bytes_read + plan.dispatches[0].bytes_written;
  const std::uint64_t sums = 3 * 16 * param_of(plan.dispatches[1], "group_count");  // those of two steps and the end
  EXPECT_EQ(plan.bytes_moved(), 3 * (product + 5 * 100'000 * std::uint64_t{4}) + sums);
}

TEST(PagerankPlan, LimitsAreKept) {
  DeviceTraits narrow = least_traits();
  narrow.max_workgroup_size = 64;
  narrow.max_workgroup_bytes = 1024;
  narrow.max_workgroups_per_dimension = 100;
  for (const DeviceTraits& traits : {least_traits(), gpu_traits(), emulated_traits(), narrow}) {
    for (const std::uint32_t nodes : {1u, 1000u, 1'000'000u}) {
      const PagerankShape shape = shape_of(nodes, nodes);
      expect_limits(planned(plan_pagerank_start(shape, traits)), traits);
      const Plan steps = planned(plan_pagerank_steps(shape, 2, traits));
      expect_limits(steps, traits);
      const Dispatch& step = steps.dispatches[steps.dispatches.size() - 2];
      const std::uint64_t tile = KernelText(*step.kernel).constant("TILE_ITEMS");
      EXPECT_EQ(param_of(step, "stride_items"), param_of(step, "group_count") * tile);
      EXPECT_GE(std::uint64_t{step.grid.x} * step.grid.y * step.grid.z, param_of(step, "group_count"));
    }
  }
  EXPECT_EQ(planned(plan_pagerank_steps(shape_of(100'000, 500'000), 2, gpu_traits())).scratch_bytes,
            planned(plan_pagerank_steps(shape_of(100'000, 500'000), 64, gpu_traits())).scratch_bytes);
}

TEST(PagerankPlan, KernelsDoNotDependOnCounts) {
  const auto text = [](std::uint32_t nodes, std::uint32_t iterations) {
    return plan_pagerank_steps(shape_of(nodes, 5 * nodes), iterations, gpu_traits())->dispatches.at(1).kernel->text;
  };
  EXPECT_EQ(text(10, 1), text(10'000'000, 8));
}

TEST(PagerankPlan, RefusesWhatItCannotDo) {
  PagerankShape wide = shape_of(10, 10);
  wide.incoming.column_count = 11;
  EXPECT_THAT(refusal(plan_pagerank_start(wide, gpu_traits())), HasSubstr("10 rows and 11 columns"));
  const PagerankShape shape = shape_of(10, 10);
  EXPECT_THAT(refusal(plan_pagerank_steps(shape, 65, gpu_traits())), HasSubstr("65 iterations in one plan"));
  PagerankShape other = shape;
  other.damping = 1.5f;
  EXPECT_THAT(refusal(plan_pagerank_steps(other, 1, gpu_traits())), HasSubstr("damping of 1.5"));
  other.damping = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(refusal(plan_pagerank_steps(other, 1, gpu_traits())), HasSubstr("damping of nan"));
  other = shape;
  other.tolerance = -1;
  EXPECT_THAT(refusal(plan_pagerank_steps(other, 1, gpu_traits())), HasSubstr("tolerance of -1"));
  EXPECT_THAT(refusal(plan_pagerank_start(shape, gpu_traits(), SolverTuning{.workgroup_size = 48})),
              HasSubstr("out of range"));
  EXPECT_THAT(refusal(plan_pagerank_start(shape_of((32u << 20) + 1, 10), least_traits()), ErrorKind::unsupported),
              HasSubstr("134217728 bytes"));
}

TEST(PagerankPlan, ProfilesChangeHowWorkgroupsAddUp) {
  const auto has_part = [&](const DeviceTraits& traits, std::string_view part) {
    const Plan plan = planned(plan_pagerank_steps(shape_of(100'000, 500'000), 1, traits));
    return std::ranges::any_of(plan.dispatches.back().kernel->lines,
                               [&](const LineOrigin& line) { return line.origin == part; });
  };
  EXPECT_TRUE(has_part(gpu_traits(), "workgroup_reduce.subgroup.wgsl"));
  EXPECT_TRUE(has_part(least_traits(), "workgroup_reduce.tree.wgsl"));
  EXPECT_TRUE(has_part(emulated_traits(), "subgroup_fold.emulated.wgsl"));
}

std::string golden_text() {
  std::string text;
  const auto add = [&](std::string_view title, const Result<Plan>& plan) {
    text += std::format("== {}\n{}\n", title, to_string(planned(plan)));
  };
  const PagerankShape shape = shape_of(1 << 20, 5 << 20);
  add("start, least limits", plan_pagerank_start(shape, least_traits()));
  add("two iterations, test GPU", plan_pagerank_steps(shape, 2, gpu_traits()));
  return text;
}

TEST(PagerankPlan, GoldenPlansAreUnchanged) { expect_golden("pagerank", golden_text()); }

}  // namespace
}  // namespace upsweep::testing
