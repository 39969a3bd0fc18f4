// SPDX-License-Identifier: Apache-2.0
// Units whose items are marked where a run of equal neighbours begins.
#pragma once

#include <string>
#include <string_view>

#include "plan/kernel_builder.h"
#include "plan/tile_items.h"
#include "upsweep/scan_tuning.h"

namespace upsweep {

// heads_of(items: RawUnit, before: RawItem, unit, range) -> u32: bit k where item k begins a run, `before` being the
// item in front of the unit's first.
std::string heads_text(const TileItems& items);
// The same with item_mask() for add_marked_units(sees_before).
std::string head_mask_text(const TileItems& items);

// In store_tile(): the number of the tile among those of all windows, for programs that leave something for each tile.
// Needs the field tile_base of the params.
inline constexpr std::string_view tile_number_text =
    "  let tile_number = params.tile_base + ((unit - first_unit(thread, workgroup)) * UNIT_ITEMS - range.origin) / "
    "TILE_ITEMS;\n";

}  // namespace upsweep
