// SPDX-License-Identifier: Apache-2.0
// Integer helpers and the one fold of a workgroup count into WebGPU's per-dimension limit. Its inverse, which skips
// the surplus workgroups, is src/wgsl/grid.wgsl.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "upsweep/device_traits.h"
#include "upsweep/plan.h"

namespace upsweep {

constexpr std::uint64_t div_ceil(std::uint64_t dividend, std::uint64_t divisor) {
  return dividend / divisor + (dividend % divisor != 0 ? 1 : 0);
}

constexpr std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
  return div_ceil(value, alignment) * alignment;
}

constexpr std::uint64_t align_down(std::uint64_t value, std::uint64_t alignment) {
  return value / alignment * alignment;
}

// The fewest dimensions that hold the count, near-square in the folded ones' product, so that surplus workgroups stay
// below one row (or plane). Nothing if the count does not fit into three dimensions, or if the number of a surplus
// workgroup would not fit into the u32 of the kernels: it would come out as that of a real one.
inline std::optional<Grid> fold_grid(std::uint64_t workgroup_count, const DeviceTraits& traits) {
  const std::uint64_t limit = traits.max_workgroups_per_dimension;
  if (workgroup_count == 0 || limit == 0) return std::nullopt;
  const std::uint64_t z = div_ceil(workgroup_count, limit * limit);
  if (z > limit) return std::nullopt;
  const std::uint64_t plane = div_ceil(workgroup_count, z);
  const std::uint64_t y = div_ceil(plane, limit);
  const std::uint64_t x = div_ceil(plane, y);
  if (x * y * z > std::uint64_t{1} << 32) return std::nullopt;
  return Grid{.x = static_cast<std::uint32_t>(x),
              .y = static_cast<std::uint32_t>(y),
              .z = static_cast<std::uint32_t>(z),
              .indirect = {}};
}

}  // namespace upsweep
