// SPDX-License-Identifier: Apache-2.0
// Kernels of selections: every two properties meet, and every type every way to store what passes.
#include <format>

#include "tile_cases.h"
#include "upsweep/select.h"

namespace upsweep {
namespace {

struct SelectCase : TileCase {
  std::optional<FlagFormat> flags;
  SelectShape shape{.write_items = false};  // what it writes
};

SelectShape shape_of(const SelectCase& c) {
  SelectShape shape = c.shape;
  shape.item_count = c.count();
  shape.input = c.item.type;
  shape.predicate = c.flags ? Predicate::flagged(*c.flags)
                            : Predicate::of("is_wanted(x, i)",
                                            any_test("is_wanted", std::format("a: {}, i: u32", c.item.value_type)));
  return shape;
}

bool is_possible(const SelectCase& c) {
  if (c.is_single_pass() && !c.state_fits()) return false;
  if (!c.fills_binding) return true;
  // Two windows carry a value over: one buffer more, and a device need not have more than eight. The input, partials,
  // the carry and the count take four.
  const int buffers = 4 + (c.shape.write_items ? 1 : 0) + (c.shape.write_indices ? 1 : 0) + (c.flags ? 1 : 0) +
                      (c.counts_on_device ? 1 : 0) + (c.shape.dispatch_threads ? 1 : 0);
  return buffers <= 8 && (!c.shape.write_indices || c.item.type.stride_bytes >= 4);
}

}  // namespace

void add_select_kernels(KernelSink& sink) {
  std::vector<Item> items = built_in_items();
  for (Item& item : structs(sink)) items.push_back(std::move(item));
  const Factor<SelectCase> outputs{{"count alone", [](SelectCase&) {}},
                                   {"items", [](SelectCase& c) { c.shape.write_items = true; }},
                                   {"indices", [](SelectCase& c) { c.shape.write_indices = true; }},
                                   {"items and indices", [](SelectCase& c) {
                                      c.shape.write_items = true;
                                      c.shape.write_indices = true;
                                    }}};
  Factor<SelectCase> predicates{{"predicate", [](SelectCase&) {}}};
  for (const auto& [name, format] : flag_formats()) {
    predicates.push_back({name, [format](SelectCase& c) { c.flags = format; }});
  }
  const Factor<SelectCase> arguments =
      switch_factor<SelectCase>("arguments of a dispatch", [](SelectCase& c) { c.shape.dispatch_threads = 64; });
  const auto use = [&](const SelectCase& c, const std::string& name) {
    sink.add("select: " + name, plan_select(shape_of(c), c.device(), c.tuning, c.offsets()));
  };
  for_each_case<SelectCase>(
      {item_factor<SelectCase>(items), predicates, outputs, arguments, path_factor<SelectCase>(),
       tuning_factor<SelectCase>(), device_factor<SelectCase>(), one_binding_size_factor<SelectCase>(),
       count_factor<SelectCase>(), offset_factor<SelectCase>()},
      choose_pairs, is_possible, use);
  for_each_case<SelectCase>({item_factor<SelectCase>(items), outputs, path_factor<SelectCase>()}, choose_all,
                            is_possible, use);
  for_each_case<SelectCase>({tuning_factor<SelectCase>(), device_factor<SelectCase>(), outputs}, choose_all,
                            is_possible, use);
  for_each_case<SelectCase>({arguments, count_factor<SelectCase>()}, choose_all, is_possible,
                            [&](const SelectCase& c, const std::string& name) {
                              SelectShape shape = shape_of(c);
                              shape.item_count.max = 0;
                              sink.add("select of nothing: " + name, plan_select(shape, c.device(), c.tuning));
                            });
}

}  // namespace upsweep
