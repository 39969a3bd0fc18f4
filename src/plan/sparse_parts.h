// SPDX-License-Identifier: Apache-2.0
// What conversions of sparse matrices share: sizes, checks, the order of rows by length, the widths of slices.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "plan/kernel_builder.h"
#include "plan/plan_builder.h"
#include "upsweep/sparse_convert.h"

namespace upsweep {

[[nodiscard]] std::uint32_t bytes_of(SparseValues values);
// Of so many values, in whole words.
[[nodiscard]] std::uint64_t value_array_bytes(SparseValues values, std::uint64_t count);

// `call` names the conversion: "A transpose".
Status check_csr(const SparseShape& shape, std::string_view call);
Status check_slice_rows(std::uint32_t slice_rows, std::uint32_t window_rows, std::string_view call);
Status check_tuning(const SparseConversionTuning& tuning);
[[nodiscard]] std::uint32_t fitted_workgroup(const SparseConversionTuning& tuning, const DeviceTraits& traits);

// start_at() of row_offsets: binding 4.
void add_row_starts(KernelBuilder& builder);
// sparse_search.wgsl, for any start_at().
void add_search(KernelBuilder& builder);

struct RowOrder {
  SlotId row_offsets;
  SlotId row_order;  // receives them
  SparseShape csr;
  std::uint32_t window_rows = 0;
  SparseConversionTuning tuning;
};
// Rows by descending length within windows. Of scratch, `row_order` is in group second.
void add_row_order(PlanBuilder& plan, const RowOrder& what, const DeviceTraits& traits);

struct SliceWidths {
  SlotId row_offsets;
  std::optional<SlotId> row_order = {};
  std::uint32_t row_count = 0;
  std::uint32_t slice_rows = 0;
  std::uint64_t slice_count = 0;  // those past the last row have width 0
  SlotId widths;                  // receives them
  // Instead: their sum is added to this word of an argument of counters.
  std::optional<std::uint32_t> sum_word = {};
  std::uint32_t workgroup_size = 0;
};
// The longest row of each slice.
void add_slice_widths(PlanBuilder& plan, const SliceWidths& what);

}  // namespace upsweep
