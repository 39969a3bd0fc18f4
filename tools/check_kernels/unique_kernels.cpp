// SPDX-License-Identifier: Apache-2.0
// Kernels of unique: every two properties meet, and every type both paths.
#include <format>

#include "tile_cases.h"
#include "upsweep/runs.h"

namespace upsweep {
namespace {

struct UniqueCase : TileCase {
  bool has_equality = true;
  bool writes_indices = false;
};

UniqueShape shape_of(const UniqueCase& c) {
  UniqueShape shape{.item_count = c.count(), .input = c.item.type, .write_indices = c.writes_indices};
  if (c.has_equality) shape.equality = any_equality(c.item);
  return shape;
}

bool is_possible(const UniqueCase& c) {
  if (c.item.type.is_struct() && !c.has_equality) return false;
  if (c.fills_binding && c.writes_indices && c.item.type.stride_bytes < 4) return false;
  return !c.is_single_pass() || c.state_fits();
}

}  // namespace

void add_unique_kernels(KernelSink& sink) {
  std::vector<Item> items = built_in_items();
  for (Item& item : structs(sink)) items.push_back(std::move(item));
  const Factor<UniqueCase> equalities =
      switch_factor<UniqueCase>("by value", [](UniqueCase& c) { c.has_equality = false; });
  const auto use = [&](const UniqueCase& c, const std::string& name) {
    sink.add("unique: " + name, plan_unique(shape_of(c), c.device(), c.tuning, c.offsets()));
  };
  for_each_case<UniqueCase>(
      {item_factor<UniqueCase>(items), equalities,
       switch_factor<UniqueCase>("indices", [](UniqueCase& c) { c.writes_indices = true; }), path_factor<UniqueCase>(),
       tuning_factor<UniqueCase>(), device_factor<UniqueCase>(), one_binding_size_factor<UniqueCase>(),
       count_factor<UniqueCase>(), offset_factor<UniqueCase>()},
      choose_pairs, is_possible, use);
  for_each_case<UniqueCase>({item_factor<UniqueCase>(items), equalities, path_factor<UniqueCase>()}, choose_all,
                            is_possible, use);
  for_each_case<UniqueCase>({count_factor<UniqueCase>()}, choose_all, is_possible,
                            [&](const UniqueCase& c, const std::string& name) {
                              UniqueShape shape = shape_of(c);
                              shape.item_count.max = 0;
                              sink.add("unique of nothing: " + name, plan_unique(shape, c.device(), c.tuning));
                            });
}

}  // namespace upsweep
