// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "plan/grid.h"

namespace upsweep {
namespace {

TEST(Grid, FoldsFiveWorkgroupsUnderALimitOfTwoIntoThreeDimensions) {
  DeviceTraits traits;
  traits.max_workgroups_per_dimension = 2;
  const auto grid = fold_grid(5, traits);
  ASSERT_TRUE(grid);
  EXPECT_EQ(*grid, (Grid{.x = 2, .y = 2, .z = 2, .indirect = {}}));
}

}  // namespace
}  // namespace upsweep
