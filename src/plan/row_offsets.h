// SPDX-License-Identifier: Apache-2.0
// The pass that turns ascending row numbers into where each row begins.
#pragma once

#include <cstdint>
#include <optional>

#include "plan/plan_builder.h"

namespace upsweep {

struct RowOffsets {
  SlotId rows;                        // ascending, a u32 an entry
  SlotId offsets;                     // row_count + 1
  std::uint64_t entry_count = 0;      // or the most that the device may say
  std::uint32_t row_count = 0;        // rows past it are as row_count
  std::optional<SlotId> counts = {};  // holds the number of entries: word `count_word`
  std::uint32_t count_word = 0;       // 0 in arguments
};
// Slots may be arguments or scratch.
void add_row_offsets(PlanBuilder& plan, const RowOffsets& what);

}  // namespace upsweep
