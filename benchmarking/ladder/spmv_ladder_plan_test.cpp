// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/ladder/spmv_ladder.h"

#include <gmock/gmock.h>

namespace upsweep::bench {
namespace {

using ::testing::HasSubstr;

TEST(SpmvLadderPlan, IsOnePassOverTheRows) {
  const auto plan =
      plan_row_major({.row_count = 1000, .column_count = 77, .width = 5}, DeviceTraits::webgpu_minimum(), 64);
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  ASSERT_EQ(plan->dispatches.size(), 1u);
  EXPECT_EQ(plan->least_bytes, 1000u * 5 * 8 + 77 * 4 + 1000 * 4);
}

TEST(SpmvLadderPlan, KernelTextsDoNotDependOnTheMatrix) {
  const auto small = plan_row_major({.row_count = 1, .column_count = 1, .width = 1}, DeviceTraits::webgpu_minimum());
  const auto large =
      plan_row_major({.row_count = 1 << 20, .column_count = 3, .width = 20}, DeviceTraits::webgpu_minimum());
  ASSERT_TRUE(small.has_value() && large.has_value());
  EXPECT_EQ(small->dispatches[0].kernel->text, large->dispatches[0].kernel->text);
}

TEST(SpmvLadderPlan, RefusesWhatItCannotDo) {
  const auto refusal = [](const RowMajorMatrix& matrix, std::uint32_t workgroup_size, ErrorKind kind) {
    const auto plan = plan_row_major(matrix, DeviceTraits::webgpu_minimum(), workgroup_size);
    EXPECT_FALSE(plan.has_value());
    if (plan) return std::string();
    EXPECT_EQ(plan.error().kind, kind);
    return plan.error().message;
  };
  EXPECT_THAT(refusal({.row_count = 8, .column_count = 8, .width = 1}, 48, ErrorKind::invalid_request),
              HasSubstr("48 threads"));
  EXPECT_THAT(refusal({.row_count = 8, .column_count = 8, .width = 0}, 64, ErrorKind::unsupported), HasSubstr("8 x 0"));
  EXPECT_THAT(refusal({.row_count = 1 << 25, .column_count = 8, .width = 2}, 64, ErrorKind::unsupported),
              HasSubstr("33554432 x 2"));
}

TEST(SpmvLadderPlan, SlotsAreTurnedIntoRows) {
  const std::vector<int> slots{1, 2, 3, 4, 5, 6};  // two slots of three rows
  EXPECT_THAT(to_row_major(slots, 3, 2), ::testing::ElementsAre(1, 4, 2, 5, 3, 6));
}

}  // namespace
}  // namespace upsweep::bench
