// SPDX-License-Identifier: Apache-2.0
// Units whose items are marked where a run of equal neighbours begins.
#pragma once

#include <string>

#include "plan/kernel_builder.h"
#include "plan/tile_items.h"
#include "upsweep/scan_tuning.h"

namespace upsweep {

// The equality as `same_item(a: Item, b: Item)`, with the caller's text. Needs Item of add_tile_items.
Status add_equality(KernelBuilder& builder, const ElementType& type, const Equality& equality);

// item_mask() for add_marked_units(sees_before): bit k where item k begins a run.
std::string head_mask_text(const TileItems& items);

}  // namespace upsweep
