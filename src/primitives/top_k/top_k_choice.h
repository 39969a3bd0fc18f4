// SPDX-License-Identifier: Apache-2.0
// What the planner and the choice of the tuning agree on.
#pragma once

#include "upsweep/top_k.h"

namespace upsweep {

inline bool has_results(const TopKShape& shape) { return shape.write_keys || shape.value || shape.write_indices; }

// Is the result the beginning of a sort of all items? Half of them sort in not much less time than all.
inline bool sorts_all(const TopKShape& shape, const TopKTuning& tuning) {
  return has_results(shape) && shape.order == TopKOrder::sorted &&
         (shape.item_count.max <= tuning.sort_all_items || shape.k.max >= (shape.item_count.max + 1) / 2);
}

}  // namespace upsweep
