// SPDX-License-Identifier: Apache-2.0
#include "plan/grid.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace upsweep {
namespace {

DeviceTraits limited_to(std::uint32_t workgroups_per_dimension) {
  DeviceTraits traits;
  traits.max_workgroups_per_dimension = workgroups_per_dimension;
  return traits;
}

Grid grid_of(std::uint32_t x, std::uint32_t y, std::uint32_t z) { return {.x = x, .y = y, .z = z, .indirect = {}}; }

std::uint64_t volume(const Grid& grid) { return std::uint64_t{grid.x} * grid.y * grid.z; }

// src/wgsl/grid.wgsl.
std::uint32_t tile_index(std::uint32_t x, std::uint32_t y, std::uint32_t z, const Grid& grid) {
  return (z * grid.y + y) * grid.x + x;
}

TEST(Numbers, DivCeilDoesNotOverflowAtTheLargestCounts) {
  EXPECT_EQ(div_ceil(0xFFFFFFFFu, 2048), 2'097'152u);
  EXPECT_EQ(div_ceil(0, 2048), 0u);
  EXPECT_EQ(div_ceil(1, 2048), 1u);
  EXPECT_EQ(div_ceil(2048, 2048), 1u);
  EXPECT_EQ(div_ceil(2049, 2048), 2u);
  EXPECT_EQ(div_ceil(~std::uint64_t{0}, 2), std::uint64_t{1} << 63);
}

TEST(Numbers, AlignUpAndDownKeepMultiples) {
  EXPECT_EQ(align_up(0, 256), 0u);
  EXPECT_EQ(align_up(1, 256), 256u);
  EXPECT_EQ(align_up(256, 256), 256u);
  EXPECT_EQ(align_up(257, 12), 264u);
  EXPECT_EQ(align_down(255, 256), 0u);
  EXPECT_EQ(align_down(511, 256), 256u);
}

TEST(Grid, UsesOneDimensionWhileItLasts) {
  EXPECT_EQ(fold_grid(1, limited_to(2)), grid_of(1, 1, 1));
  EXPECT_EQ(fold_grid(2, limited_to(2)), grid_of(2, 1, 1));
  EXPECT_EQ(fold_grid(65535, limited_to(65535)), grid_of(65535, 1, 1));
}

TEST(Grid, FoldsOneWorkgroupTooManyInHalf) {
  EXPECT_EQ(fold_grid(65536, limited_to(65535)), grid_of(32768, 2, 1));
  EXPECT_EQ(fold_grid(131071, limited_to(65535)), grid_of(43691, 3, 1));
}

TEST(Grid, FoldsFiveWorkgroupsUnderALimitOfTwoIntoThreeDimensions) {
  EXPECT_EQ(fold_grid(div_ceil(1025, 256), limited_to(2)), grid_of(2, 2, 2));
}

TEST(Grid, TakesTheThirdDimensionOnlyWhenAPlaneIsFull) {
  EXPECT_EQ(fold_grid(7, limited_to(3)), grid_of(3, 3, 1));
  EXPECT_EQ(fold_grid(8, limited_to(3)), grid_of(3, 3, 1));
  EXPECT_EQ(fold_grid(9, limited_to(3)), grid_of(3, 3, 1));
  EXPECT_EQ(fold_grid(10, limited_to(3)), grid_of(3, 2, 2));
}

TEST(Grid, RefusesWhatThreeDimensionsDoNotHold) {
  EXPECT_FALSE(fold_grid(0, limited_to(65535)));
  EXPECT_TRUE(fold_grid(8, limited_to(2)));
  EXPECT_FALSE(fold_grid(9, limited_to(2)));
  EXPECT_TRUE(fold_grid(1, limited_to(1)));
  EXPECT_FALSE(fold_grid(2, limited_to(1)));
}

TEST(Grid, RefusesSurplusWorkgroupsWhoseNumbersWouldWrapRound) {
  // 65535 x 32769 x 2 workgroups would hold these, and number the last ones like the first.
  EXPECT_FALSE(fold_grid(0xFFFFFFFFu, limited_to(65535)));
  EXPECT_FALSE(fold_grid(std::uint64_t{1} << 32, limited_to(65535)));
  EXPECT_EQ(fold_grid(std::uint64_t{1} << 32, limited_to(65536)), grid_of(65536, 65536, 1));
  EXPECT_EQ(fold_grid(std::uint64_t{1} << 31, limited_to(65535)), grid_of(65535, 32769, 1));
}

TEST(Grid, HoldsTheCountWithASurplusBelowOneRowOrPlane) {
  std::mt19937_64 random(7);
  for (int repetition = 0; repetition < 20000; ++repetition) {
    const auto limit = static_cast<std::uint32_t>(random() % 70000 + 1);
    const std::uint64_t count = (random() >> (random() % 40 + 24)) + 1;
    const auto grid = fold_grid(count, limited_to(limit));
    if (!grid) {
      const std::uint64_t most = std::uint64_t{limit} * limit * limit;
      // Refused for its size, or since its fold (surplus: less than a plane) passes 2^32.
      EXPECT_TRUE(count > most || count + std::uint64_t{limit} * limit > (std::uint64_t{1} << 32))
          << count << " under " << limit;
      continue;
    }
    ASSERT_LE(grid->x, limit);
    ASSERT_LE(grid->y, limit);
    ASSERT_LE(grid->z, limit);
    ASSERT_GE(volume(*grid), count) << count << " under " << limit;
    const std::uint64_t unit = grid->z > 1 ? std::uint64_t{grid->x} * grid->y : grid->x;
    ASSERT_LT(volume(*grid) - count, unit) << count << " under " << limit;
  }
}

TEST(Grid, NumbersEveryWorkgroupOnce) {
  for (const std::uint32_t limit : {1u, 2u, 3u, 5u, 7u}) {
    for (std::uint64_t count = 1; count <= std::uint64_t{limit} * limit * limit; ++count) {
      const auto grid = fold_grid(count, limited_to(limit));
      ASSERT_TRUE(grid) << count << " under " << limit;
      std::vector<int> seen(volume(*grid), 0);
      for (std::uint32_t z = 0; z < grid->z; ++z) {
        for (std::uint32_t y = 0; y < grid->y; ++y) {
          for (std::uint32_t x = 0; x < grid->x; ++x) ++seen.at(tile_index(x, y, z, *grid));
        }
      }
      EXPECT_EQ(seen, std::vector<int>(volume(*grid), 1)) << count << " under " << limit;
    }
  }
}

TEST(Traits, DefaultLimitsNeverExceedTheDevices) {
  DeviceTraits device;
  device.max_workgroup_size = 1024;
  device.max_workgroups_per_dimension = 100;
  device.max_storage_buffers = 1000;
  device.offset_alignment = 16;
  device.f16 = true;
  const DeviceTraits limited = device.with_default_limits();
  EXPECT_EQ(limited.max_workgroup_size, 256u);
  EXPECT_EQ(limited.max_workgroups_per_dimension, 100u);
  EXPECT_EQ(limited.max_storage_buffers, 8u);
  EXPECT_EQ(limited.offset_alignment, 256u);
  EXPECT_TRUE(limited.f16);
}

TEST(Traits, WithoutSubgroupsForgetsAllThatIsKnownOfThem) {
  DeviceTraits device;
  device.subgroups = true;
  device.subgroup_min_size = device.subgroup_max_size = 32;
  device.subgroup_id_builtin = device.subgroup_ids_follow_index = true;
  EXPECT_EQ(device.without_subgroups(), DeviceTraits{});
}

}  // namespace
}  // namespace upsweep
