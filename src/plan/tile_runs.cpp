// SPDX-License-Identifier: Apache-2.0
#include "plan/tile_runs.h"

#include <format>

namespace upsweep {

std::string heads_text(const TileItems& items) {
  std::string mask;
  for (std::uint32_t k = 0; k < items.unit_items; ++k) {
    mask += std::format(" |\n         select({}u, 0u, same_item(item_value({}), item_value({})))", 1u << k,
                        k == 0 ? std::string("before") : items.item("items", k - 1), items.item("items", k));
  }
  // The caller's equality is asked about the items of the row only: what stands for others is an item, too.
  return std::format(
      "// Bit k: item k of a unit begins a run. The row's first one does, whatever lies before it.\n"
      "fn heads_of(items: RawUnit, before: RawItem, unit: u32, range: Range) -> u32 {{\n"
      "  let first = select(0xffffffffu, range.begin - unit * UNIT_ITEMS, params.is_first_window == 1u);\n"
      "  return select(0u, 1u << (first & 3u), first < UNIT_ITEMS){};\n}}\n",
      mask);
}

std::string head_mask_text(const TileItems& items) {
  return heads_text(items) +
         "fn item_mask(loaded: Loaded, unit: u32, range: Range) -> u32 {\n"
         "  return heads_of(loaded.items, loaded.before, unit, range);\n}\n";
}

}  // namespace upsweep
