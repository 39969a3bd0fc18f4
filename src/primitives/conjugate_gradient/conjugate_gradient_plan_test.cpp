// SPDX-License-Identifier: Apache-2.0
// Plans of conjugate gradients without a device: passes, traffic, limits, refusals.
#include <format>
#include <limits>

#include "testing/tile_plans.h"
#include "upsweep/conjugate_gradient.h"

namespace upsweep::testing {
namespace {

using ::testing::HasSubstr;

static_assert(sizeof(CgState) == 32);

CgShape shape_of(std::uint32_t rows, std::uint32_t entries, CgPreconditioner preconditioner = CgPreconditioner::none) {
  return {.matrix = {.row_count = rows, .column_count = rows, .entry_count = entries, .longest_row = 5},
          .preconditioner = preconditioner};
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

TEST(CgPlan, AnIterationIsAProductAndThreePasses) {
  const CgShape shape = shape_of(100'000, 500'000);
  const std::string one =
      "spmv_rows conjugate_gradient_curvature conjugate_gradient_residual conjugate_gradient_direction";
  EXPECT_EQ(names_of(planned(plan_cg_steps(shape, 2, gpu_traits()))), one + " " + one);
  EXPECT_EQ(names_of(planned(plan_cg_start(shape, gpu_traits()))),
            "spmv_rows conjugate_gradient_start conjugate_gradient_begin");
  CgShape from_zero = shape;
  from_zero.zero_guess = true;
  EXPECT_EQ(names_of(planned(plan_cg_start(from_zero, gpu_traits()))),
            "conjugate_gradient_start conjugate_gradient_begin");
  EXPECT_EQ(planned(plan_cg_start(from_zero, gpu_traits())).find_argument("columns"), nullptr);
  EXPECT_TRUE(planned(plan_cg_steps(shape, 0, gpu_traits())).dispatches.empty());
  EXPECT_TRUE(planned(plan_cg_steps(shape_of(0, 0), 3, gpu_traits())).dispatches.empty());
  EXPECT_EQ(names_of(planned(plan_cg_start(shape_of(0, 0), gpu_traits()))), "conjugate_gradient_begin");
}

TEST(CgPlan, TheMatrixMovesOnceAndVectorsTwelveTimes) {
  const std::uint64_t vector = 100'000 * 4;
  for (const bool jacobi : {false, true}) {
    const CgShape shape = shape_of(100'000, 500'000, jacobi ? CgPreconditioner::jacobi : CgPreconditioner::none);
    const Plan plan = planned(plan_cg_steps(shape, 3, gpu_traits()));
    const std::uint64_t product = plan.dispatches[0].bytes_read + plan.dispatches[0].bytes_written;
    EXPECT_EQ(plan.bytes_moved(), 3 * (product + (jacobi ? 12 : 10) * vector));
    EXPECT_EQ(plan.least_bytes, 3 * (500'000 * 8 + 6 * vector));
  }
}

TEST(CgPlan, ScratchDoesNotGrowWithIterations) {
  for (const std::uint32_t longest : {0u, 5u}) {  // products by merge path have scratch of their own
    CgShape shape = shape_of(100'000, 500'000);
    shape.matrix.longest_row = longest;
    EXPECT_EQ(planned(plan_cg_steps(shape, 2, gpu_traits())).scratch_bytes,
              planned(plan_cg_steps(shape, 64, gpu_traits())).scratch_bytes);
  }
}

TEST(CgPlan, LimitsAreKept) {
  DeviceTraits narrow = least_traits();
  narrow.max_workgroup_size = 64;
  narrow.max_workgroup_bytes = 1024;
  narrow.max_workgroups_per_dimension = 100;
  for (const DeviceTraits& traits : {least_traits(), gpu_traits(), emulated_traits(), narrow}) {
    for (const std::uint32_t rows : {1u, 1000u, 1'000'000u}) {
      for (const auto preconditioner : {CgPreconditioner::none, CgPreconditioner::jacobi}) {
        const CgShape shape = shape_of(rows, rows, preconditioner);
        expect_limits(planned(plan_cg_start(shape, traits)), traits);
        const Plan steps = planned(plan_cg_steps(shape, 2, traits));
        expect_limits(steps, traits);
        const Dispatch& last = steps.dispatches.back();
        // Every item has a thread: workgroups go round by all that they take at a time.
        const std::uint64_t tile = KernelText(*last.kernel).constant("TILE_ITEMS");
        EXPECT_EQ(param_of(last, "stride_items"), param_of(last, "group_count") * tile);
        EXPECT_GE(std::uint64_t{last.grid.x} * last.grid.y * last.grid.z, param_of(last, "group_count"));
        EXPECT_EQ(param_of(last, "partial_count"), param_of(last, "group_count"));
      }
      expect_limits(planned(plan_cg_diagonal(shape_of(rows, rows).matrix, traits)), traits);
    }
  }
}

TEST(CgPlan, KernelsDoNotDependOnCounts) {
  const auto texts = [](std::uint32_t rows, std::uint32_t iterations) {
    std::vector<std::string> all;
    for (const auto& plan : {plan_cg_start(shape_of(rows, 5 * rows), gpu_traits()),
                             plan_cg_steps(shape_of(rows, 5 * rows), iterations, gpu_traits())}) {
      for (std::size_t i = 1; i < 3; ++i) all.push_back(plan->dispatches.at(i).kernel->text);
    }
    return all;
  };
  EXPECT_EQ(texts(10, 1), texts(10'000'000, 8));
}

TEST(CgPlan, RefusesWhatItCannotDo) {
  CgShape wide = shape_of(10, 10);
  wide.matrix.column_count = 11;
  EXPECT_THAT(refusal(plan_cg_start(wide, gpu_traits())), HasSubstr("10 rows and 11 columns"));
  EXPECT_THAT(refusal(plan_cg_steps(wide, 1, gpu_traits())), HasSubstr("10 rows and 11 columns"));
  const CgShape shape = shape_of(10, 10);
  EXPECT_THAT(refusal(plan_cg_steps(shape, 65, gpu_traits())), HasSubstr("65 iterations in one plan: at most 64"));
  CgShape negative = shape;
  negative.tolerance = -1;
  EXPECT_THAT(refusal(plan_cg_start(negative, gpu_traits())), HasSubstr("tolerance of -1"));
  negative.tolerance = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(refusal(plan_cg_start(negative, gpu_traits())), HasSubstr("tolerance of nan"));
  for (const SolverTuning& tuning : {SolverTuning{.workgroup_size = 48}, SolverTuning{.items_per_thread = 0},
                                     SolverTuning{.items_per_thread = 17}, SolverTuning{.max_workgroups = 5000}}) {
    EXPECT_THAT(refusal(plan_cg_start(shape, gpu_traits(), tuning)), HasSubstr("out of range"));
    EXPECT_THAT(refusal(plan_cg_steps(shape, 1, gpu_traits(), tuning)), HasSubstr("out of range"));
  }
  EXPECT_THAT(refusal(plan_cg_steps(shape_of((32u << 20) + 1, 10), 1, least_traits()), ErrorKind::unsupported),
              HasSubstr("134217728 bytes"));
  SparseShape coo = shape.matrix;
  coo.format = SparseFormat::coo;
  EXPECT_THAT(refusal(plan_cg_diagonal(coo, gpu_traits())), HasSubstr("not from coo"));
  // What the product refuses is refused.
  CgShape blocks = shape;
  blocks.matrix.format = SparseFormat::block_ell;
  blocks.matrix.block_size = 5;
  EXPECT_THAT(refusal(plan_cg_steps(blocks, 1, gpu_traits())), HasSubstr("Blocks of 5 x 5"));
}

TEST(CgPlan, ProfilesChangeHowWorkgroupsAddUp) {
  const CgShape shape = shape_of(100'000, 500'000);
  const auto has_part = [&](const DeviceTraits& traits, std::string_view part) {
    const Plan plan = planned(plan_cg_steps(shape, 1, traits));
    return std::ranges::any_of(plan.dispatches.back().kernel->lines,
                               [&](const LineOrigin& line) { return line.origin == part; });
  };
  EXPECT_TRUE(has_part(gpu_traits(), "workgroup_reduce.subgroup.wgsl"));
  EXPECT_TRUE(has_part(gpu_traits().without_subgroups(), "workgroup_reduce.tree.wgsl"));
  EXPECT_TRUE(has_part(least_traits(), "workgroup_reduce.tree.wgsl"));
  EXPECT_TRUE(has_part(emulated_traits(), "subgroup_fold.emulated.wgsl"));
}

std::string golden_text() {
  std::string text;
  const auto add = [&](std::string_view title, const Result<Plan>& plan) {
    text += std::format("== {}\n{}\n", title, to_string(planned(plan)));
  };
  CgShape shape = shape_of(1 << 20, 5 << 20, CgPreconditioner::jacobi);
  add("start from a first guess, test GPU", plan_cg_start(shape, gpu_traits()));
  add("two iterations, test GPU", plan_cg_steps(shape, 2, gpu_traits()));
  shape.zero_guess = true;
  shape.preconditioner = CgPreconditioner::none;
  add("start from 0, least limits", plan_cg_start(shape, least_traits()));
  add("diagonal, least limits", plan_cg_diagonal(shape.matrix, least_traits()));
  return text;
}

TEST(CgPlan, GoldenPlansAreUnchanged) { expect_golden("conjugate_gradient", golden_text()); }

}  // namespace
}  // namespace upsweep::testing
