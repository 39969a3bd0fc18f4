// SPDX-License-Identifier: Apache-2.0
// The step of the ladder of products that the library does not have: ELLPACK as many programs first write it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "upsweep/device_traits.h"
#include "upsweep/plan.h"
#include "upsweep/sparse.h"
#include "upsweep/status.h"

namespace upsweep::bench {

struct RowMajorMatrix {
  std::uint32_t row_count = 0;
  std::uint32_t column_count = 0;
  std::uint32_t width = 0;  ///< slots a row
};

// y = A x by arguments `columns` and `values` (slot s of row r at r * width + s; unused slots have the column
// no_column), `x` and `y`. At least one of each size. Views must begin at multiples of 256 bytes.
Result<Plan> plan_row_major(const RowMajorMatrix& matrix, const DeviceTraits& traits,
                            std::optional<std::uint32_t> workgroup_size = std::nullopt);

// The slots of a slot-major array, row by row.
template <typename T>
std::vector<T> to_row_major(const std::vector<T>& slots, std::uint32_t row_count, std::uint32_t width) {
  std::vector<T> rows(slots.size());
  for (std::size_t row = 0; row < row_count; ++row) {
    for (std::size_t slot = 0; slot < width; ++slot) rows[row * width + slot] = slots[slot * row_count + row];
  }
  return rows;
}

}  // namespace upsweep::bench
