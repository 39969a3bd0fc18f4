// SPDX-License-Identifier: Apache-2.0
// The optimisation ladder of products. One step is a kernel that the library does not have: ELLPACK as many programs
// first write it. The others are the library's, each with the path or the format that it is about.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "upsweep/device_traits.h"
#include "upsweep/plan.h"
#include "upsweep/sparse.h"
#include "upsweep/spmv.h"
#include "upsweep/status.h"

namespace upsweep::bench {

enum class SpmvStep : std::uint8_t { ell_row_major, ell, csr_thread, csr_subgroup, csr_merge, block_ell };
constexpr std::array spmv_steps{SpmvStep::ell_row_major, SpmvStep::ell,       SpmvStep::csr_thread,
                                SpmvStep::csr_subgroup,  SpmvStep::csr_merge, SpmvStep::block_ell};

// "csr_thread", for JSON.
std::string_view step_name(SpmvStep step);
// "CSR, one thread a row", for tables.
std::string_view step_title(SpmvStep step);
// Of compressed rows: whether the step multiplies them, and with which knobs.
bool takes_csr(SpmvStep step);
SpmvTuning spmv_step_tuning(SpmvStep step, const SparseShape& csr, const DeviceTraits& traits);

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
