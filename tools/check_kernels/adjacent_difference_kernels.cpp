// SPDX-License-Identifier: Apache-2.0
// Kernels of adjacent differences: every two properties meet.
#include <format>

#include "tile_cases.h"
#include "upsweep/adjacent_difference.h"

namespace upsweep {
namespace {

struct DifferenceCase : TileCase {
  bool has_expression = true;
};

bool is_possible(const DifferenceCase& c) { return c.has_expression || !c.item.type.is_struct(); }

}  // namespace

void add_adjacent_difference_kernels(KernelSink& sink) {
  std::vector<Item> items = built_in_items();
  for (Item& item : structs(sink)) items.push_back(std::move(item));
  for_each_case<DifferenceCase>(
      {item_factor<DifferenceCase>(items),
       switch_factor<DifferenceCase>("subtracted", [](DifferenceCase& c) { c.has_expression = false; }),
       tuning_factor<DifferenceCase>(), device_factor<DifferenceCase>(), size_factor<DifferenceCase>(),
       count_factor<DifferenceCase>(), offset_factor<DifferenceCase>()},
      choose_pairs, is_possible, [&](const DifferenceCase& c, const std::string& name) {
        AdjacentDifferenceShape shape{.item_count = c.count(), .input = c.item.type};
        if (c.has_expression) {
          shape.expression = "later(x, before)";
          shape.wgsl = std::format("fn later(x: {0}, before: {0}) -> {0} {{\n  let copy = before;\n  return x;\n}}\n",
                                   c.item.value_type);
        }
        sink.add("adjacent_difference: " + name, plan_adjacent_difference(shape, c.device(), c.tuning, c.offsets()));
      });
}

}  // namespace upsweep
