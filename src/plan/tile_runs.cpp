// SPDX-License-Identifier: Apache-2.0
#include "plan/tile_runs.h"

#include <format>

#include "plan/tile_select.h"

namespace upsweep {

Status add_equality(KernelBuilder& builder, const ElementType& type, const Equality& equality) {
  builder.caller_text("equality", equality.wgsl);
  const auto text = equality_function("same_item", type, equality);
  if (!text) return std::unexpected(text.error());
  builder.generated("equality expression", *text);
  return {};
}

std::string head_mask_text(const TileItems& items) {
  std::string mask;
  for (std::uint32_t k = 0; k < items.unit_items; ++k) {
    mask += std::format("{}select(0u, {}u, begins_run({}, {}, unit * UNIT_ITEMS + {}u, range))",
                        k == 0 ? "" : " |\n         ", 1u << k, item_before(items, "loaded", k),
                        items.item("loaded.items", k), k);
  }
  // The caller's equality is asked about the items of the row only: what stands for others is an item, too.
  return std::format(
      "fn begins_run(before: RawItem, item: RawItem, position: u32, range: Range) -> bool {{\n"
      "  let is_first = position == range.begin && params.is_first_window == 1u;\n"
      "  return is_first | !same_item(item_value(before), item_value(item));\n}}\n"
      "fn item_mask(loaded: Loaded, unit: u32, range: Range) -> u32 {{\n  return {};\n}}\n",
      mask);
}

}  // namespace upsweep
