// SPDX-License-Identifier: Apache-2.0
// Plans of products without a device: passes, grids, limits, refusals.
#include <format>

#include "testing/tile_plans.h"
#include "upsweep/spmv.h"

namespace upsweep::testing {
namespace {

using ::testing::HasSubstr;

SpmvShape csr(std::uint32_t rows, std::uint32_t entries, std::uint32_t longest = 0) {
  return {.matrix = {.row_count = rows, .column_count = rows, .entry_count = entries, .longest_row = longest}};
}

Plan planned(const SpmvShape& shape, const DeviceTraits& traits = least_traits(),
             std::optional<SpmvTuning> tuning = std::nullopt) {
  auto plan = plan_spmv(shape, traits, tuning);
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  if (plan) expect_limits(*plan, traits);
  return plan ? std::move(*plan) : Plan{};
}

std::string refusal(const SpmvShape& shape, ErrorKind kind = ErrorKind::invalid_request,
                    std::optional<SpmvTuning> tuning = std::nullopt) {
  const auto plan = plan_spmv(shape, least_traits(), tuning);
  if (plan) return "no error";
  EXPECT_EQ(plan.error().kind, kind) << plan.error().message;
  return plan.error().message;
}

std::uint64_t workgroups(const Dispatch& dispatch) {
  return std::uint64_t{dispatch.grid.x} * dispatch.grid.y * dispatch.grid.z;
}

TEST(SpmvPlan, RowsOfUnknownLengthAreMerged) {
  EXPECT_EQ(planned(csr(1000, 7000)).dispatches.size(), 2u);
  EXPECT_EQ(planned(csr(1000, 7000, 9)).dispatches.size(), 1u);     // all about as long
  EXPECT_EQ(planned(csr(1000, 7000, 6000)).dispatches.size(), 2u);  // one has most of them
  DeviceTraits cpu = least_traits();
  cpu.is_cpu = true;
  EXPECT_EQ(planned(csr(1000, 7000), cpu).dispatches.size(), 1u);
}

TEST(SpmvPlan, TilesHoldAllRowsAndEntries) {
  const SpmvTuning tuning{.path = SpmvPath::merge, .workgroup_size = 64, .items_per_thread = 3};
  for (const auto& [rows, entries] :
       {std::pair{1u, 1u}, {100u, 92u}, {100u, 93u}, {3u, 30'000'000u}, {30'000'000u, 3u}}) {
    const Plan plan = planned(csr(rows, entries), least_traits(), tuning);
    ASSERT_EQ(plan.dispatches.size(), 2u);
    const std::uint64_t tiles = (std::uint64_t{rows} + entries + 191) / 192;
    EXPECT_GE(workgroups(plan.dispatches[1]), tiles);
    EXPECT_GE(workgroups(plan.dispatches[0]) * 64, tiles + 1);
    EXPECT_EQ(plan.scratch_group_bytes[0] / 4, 4 * (tiles + 1));
  }
}

TEST(SpmvPlan, PreparedTilesSpareAPass) {
  SpmvShape shape = csr(1000, 7000);
  const auto tiles = plan_spmv_tiles(shape, least_traits());
  ASSERT_TRUE(tiles.has_value());
  EXPECT_EQ(tiles->dispatches.size(), 1u);
  shape.has_tiles = true;
  const Plan plan = planned(shape);
  EXPECT_EQ(plan.dispatches.size(), 1u);
  EXPECT_EQ(plan.find_argument("tiles")->size_bytes, tiles->find_argument("tiles")->size_bytes);
  EXPECT_EQ(plan.scratch_bytes, 0u);
  shape.matrix.longest_row = 9;  // path rows needs none
  EXPECT_TRUE(plan_spmv_tiles(shape, least_traits())->dispatches.empty());
  EXPECT_EQ(planned(shape).find_argument("tiles"), nullptr);
}

TEST(SpmvPlan, EveryRowAndVectorHasItsLanes) {
  for (const std::uint32_t lanes : {1u, 2u, 32u, 64u}) {
    for (const std::uint32_t vectors : {1u, 3u}) {
      SpmvShape shape = csr(100'001, 400'000);
      shape.vector_count = vectors;
      const Plan plan = planned(shape, least_traits(),
                                SpmvTuning{.path = SpmvPath::rows, .workgroup_size = 64, .lanes_per_row = lanes});
      ASSERT_EQ(plan.dispatches.size(), 1u);
      EXPECT_GE(workgroups(plan.dispatches[0]) * 64, std::uint64_t{100'001} * vectors * lanes);
    }
  }
}

TEST(SpmvPlan, KernelsDoNotDependOnCounts) {
  const auto texts = [](const SpmvShape& shape) {
    std::vector<std::string> all;
    for (const Dispatch& dispatch : planned(shape, gpu_traits()).dispatches) all.push_back(dispatch.kernel->text);
    return all;
  };
  EXPECT_EQ(texts(csr(10, 70)), texts(csr(3'000'000, 21'000'000)));
  SpmvShape ell = csr(10, 0);
  ell.matrix.format = SparseFormat::ell;
  ell.matrix.width = 16;
  SpmvShape wide = ell;
  wide.matrix.width = 104;  // as many loads ahead
  wide.matrix.row_count = 5000;
  wide.matrix.row_stride = 6000;
  wide.alpha = 3;
  EXPECT_EQ(texts(ell), texts(wide));
}

TEST(SpmvPlan, NothingToDo) {
  EXPECT_TRUE(planned(csr(0, 0)).dispatches.empty());
  for (SpmvShape shape : {csr(5, 0), csr(5, 3)}) {
    if (shape.matrix.entry_count != 0) shape.matrix.column_count = 0;
    const Plan plan = planned(shape);
    ASSERT_EQ(plan.dispatches.size(), 1u);
    EXPECT_EQ(plan.find_argument("x"), nullptr);
    EXPECT_EQ(plan.find_argument("columns"), nullptr);
  }
}

TEST(SpmvPlan, FormatsAskForTheirBuffers) {
  const auto names = [](SpmvShape shape, SparseFormat format) {
    shape.matrix.format = format;
    shape.matrix.width = 4;
    shape.matrix.is_reordered = true;
    shape.matrix.rest_row_count = 2;
    shape.matrix.rest_entry_count = 9;
    std::string all;
    for (const ArgumentSlot& argument : planned(shape).arguments) {
      all += std::format("{} {}; ", argument.name, argument.size_bytes / 4);
    }
    return all;
  };
  const SpmvShape shape = csr(100, 600);
  EXPECT_EQ(names(shape, SparseFormat::csr), "y 100; x 100; columns 600; values 600; row_offsets 101; ");
  EXPECT_EQ(names(shape, SparseFormat::coo), "y 100; x 100; columns 600; values 600; rows 600; ");
  EXPECT_EQ(names(shape, SparseFormat::ell), "y 100; x 100; columns 400; values 400; ");
  EXPECT_EQ(names(shape, SparseFormat::sliced_ell),
            "y 100; x 100; columns 600; values 600; slice_offsets 5; row_order 100; ");
  EXPECT_EQ(names(shape, SparseFormat::block_ell), "y 100; x 100; columns 200; values 800; ");
  EXPECT_EQ(names(shape, SparseFormat::hybrid),
            "y 100; x 100; columns 400; values 400; rest_columns 9; rest_values 9; rest_offsets 3; rest_rows 2; ");
  SpmvShape halves = shape;
  halves.matrix.values = SparseValues::f16;
  halves.matrix.entry_count = 601;
  EXPECT_EQ(names(halves, SparseFormat::csr), "y 100; x 100; columns 601; values 301; row_offsets 101; ");
  halves.matrix.values = SparseValues::ones;
  halves.vector_count = 3;
  EXPECT_EQ(names(halves, SparseFormat::csr), "y 300; x 300; columns 601; row_offsets 101; ");
}

TEST(SpmvPlan, RefusesWhatItCannotDo) {
  SpmvShape shape = csr(10, 10);
  shape.vector_count = 17;
  EXPECT_THAT(refusal(shape), HasSubstr("17 vectors"));
  shape.vector_count = 0;
  EXPECT_THAT(refusal(shape), HasSubstr("0 vectors"));
  shape = csr(10, 10);
  shape.matrix.format = SparseFormat::block_ell;
  shape.matrix.block_size = 5;
  EXPECT_THAT(refusal(shape), HasSubstr("Blocks of 5 x 5"));
  shape.matrix.block_size = 3;
  shape.matrix.row_stride = 3;
  EXPECT_THAT(refusal(shape), HasSubstr("row_stride of 3 is smaller than the 4 block rows"));
  shape.matrix.format = SparseFormat::ell;
  EXPECT_THAT(refusal(shape), HasSubstr("the 10 rows"));
  shape.matrix.format = SparseFormat::sliced_ell;
  shape.matrix.slice_rows = 0;
  EXPECT_THAT(refusal(shape), HasSubstr("Slices of 0"));
  EXPECT_THAT(refusal(csr(10, (32u << 20) + 1), ErrorKind::unsupported), HasSubstr("134217728 bytes"));
  EXPECT_THAT(refusal(csr(32u << 20, 1), ErrorKind::unsupported), HasSubstr("row_offsets"));
  shape = csr(10, 10);
  shape.matrix.format = SparseFormat::ell;
  shape.matrix.width = 0xffffffffu;
  EXPECT_THAT(refusal(shape, ErrorKind::unsupported), HasSubstr("42949672950 items"));
  shape = csr(10, 10);
  shape.has_tiles = true;
  shape.matrix.format = SparseFormat::coo;
  EXPECT_THAT(refusal(shape), HasSubstr("prepared for csr, not for coo"));
  EXPECT_FALSE(plan_spmv_tiles(shape, least_traits()).has_value());
  for (const SpmvTuning& tuning :
       {SpmvTuning{.workgroup_size = 48}, SpmvTuning{.lanes_per_row = 3}, SpmvTuning{.loads_ahead = 0},
        SpmvTuning{.loads_ahead = 17}, SpmvTuning{.items_per_thread = 17}}) {
    EXPECT_THAT(refusal(csr(10, 10), ErrorKind::invalid_request, tuning), HasSubstr("out of range"));
  }
}

TEST(SpmvPlan, ProfilesChangeThePlan) {
  const SpmvShape shape = csr(100'000, 2'000'000, 25);
  const auto text = [&](const DeviceTraits& traits) { return planned(shape, traits).dispatches.at(0).kernel->text; };
  EXPECT_THAT(text(gpu_traits()), HasSubstr("subgroupShuffleXor"));
  EXPECT_THAT(text(gpu_traits().without_subgroups()), HasSubstr("lane_sums"));
  DeviceTraits small = gpu_traits();
  small.max_workgroup_bytes = 2048;
  const Plan cut = planned(csr(1000, 9000), small.without_subgroups());
  EXPECT_LE(cut.dispatches.at(1).kernel->workgroup_bytes, 2048u);
}

TEST(SpmvPlan, GoldenPlansAreUnchanged) {
  std::string all;
  const auto add = [&](const SpmvShape& shape, const DeviceTraits& traits) {
    all += to_string(planned(shape, traits)) + "\n";
  };
  add(csr(4'194'304, 20'963'328, 5), gpu_traits());
  SpmvShape shape = csr(1'000'000, 7'300'000);
  shape.beta = 1;
  add(shape, gpu_traits());
  shape.matrix.format = SparseFormat::coo;
  add(shape, least_traits());
  shape.matrix.format = SparseFormat::hybrid;
  shape.matrix.width = 6;
  shape.matrix.rest_row_count = 4000;
  shape.matrix.rest_entry_count = 1'300'000;
  add(shape, gpu_traits());
  shape.matrix.format = SparseFormat::block_ell;
  shape.matrix.block_size = 3;
  shape.matrix.width = 2;
  add(shape, gpu_traits());
  expect_golden("spmv", all);
}

}  // namespace
}  // namespace upsweep::testing
