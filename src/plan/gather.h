// SPDX-License-Identifier: Apache-2.0
// The pass that brings items to where indices say: what is too large to move with its keys follows at the end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "plan/plan_builder.h"
#include "upsweep/element.h"

namespace upsweep {

struct Gather {
  std::string name;  // of the kernel
  SlotId indices;    // into `from`, a u32 an item; one behind its end leaves the item as it is
  SlotId from;       // arguments
  SlotId to;
  ElementType type;                   // of any size that is a multiple of 2; f16 moves as halves of words
  std::uint64_t source_count = 0;     // items in `from`
  std::uint64_t item_count = 0;       // indices, or the most that the device may say
  std::optional<SlotId> counts = {};  // holds the number of indices: word `count_word`
  std::uint32_t count_word = 0;       // 0 in arguments
  std::uint32_t most_threads = 256;
  std::string reason;
};
void add_gather(PlanBuilder& plan, const Gather& gather);

}  // namespace upsweep
