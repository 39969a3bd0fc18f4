// SPDX-License-Identifier: Apache-2.0
// Kernels of partitions: every two properties meet, and every type both numbers of parts.
#include <format>

#include "tile_cases.h"
#include "upsweep/partition.h"

namespace upsweep {
namespace {

struct PartitionCase : TileCase {
  std::optional<FlagFormat> flags;
  bool has_three_parts = false;
};

PartitionShape shape_of(const PartitionCase& c) {
  const auto predicate = [&](const std::string& name) {
    return Predicate::of(name + "(x, i)", any_test(name, std::format("a: {}, i: u32", c.item.value_type)));
  };
  PartitionShape shape{.item_count = c.count(), .input = c.item.type};
  shape.first = c.flags ? Predicate::flagged(*c.flags) : predicate("is_first");
  if (c.has_three_parts) shape.second = predicate("is_second");
  return shape;
}

bool is_possible(const PartitionCase& c) { return !c.flags || !c.has_three_parts; }

}  // namespace

void add_partition_kernels(KernelSink& sink) {
  std::vector<Item> items = built_in_items();
  for (Item& item : structs(sink)) items.push_back(std::move(item));
  Factor<PartitionCase> predicates{{"predicate", [](PartitionCase&) {}}};
  for (const auto& [name, format] : flag_formats()) {
    predicates.push_back({name, [format](PartitionCase& c) { c.flags = format; }});
  }
  const Factor<PartitionCase> parts =
      switch_factor<PartitionCase>("three parts", [](PartitionCase& c) { c.has_three_parts = true; });
  const Factor<PartitionCase> sizes{{"70000 items", [](PartitionCase&) {}},
                                    {"3000 items", [](PartitionCase& c) { c.item_count = 3000; }}};
  const auto use = [&](const PartitionCase& c, const std::string& name) {
    sink.add("partition: " + name, plan_partition(shape_of(c), c.device(), c.tuning, c.offsets()));
  };
  for_each_case<PartitionCase>(
      {item_factor<PartitionCase>(items), predicates, parts, tuning_factor<PartitionCase>(),
       device_factor<PartitionCase>(), sizes, count_factor<PartitionCase>(), offset_factor<PartitionCase>()},
      choose_pairs, is_possible, use);
  for_each_case<PartitionCase>({tuning_factor<PartitionCase>(), device_factor<PartitionCase>(), parts}, choose_all,
                               is_possible, use);
  for_each_case<PartitionCase>({parts, count_factor<PartitionCase>()}, choose_all, is_possible,
                               [&](const PartitionCase& c, const std::string& name) {
                                 PartitionShape shape = shape_of(c);
                                 shape.item_count.max = 0;
                                 sink.add("partition of nothing: " + name, plan_partition(shape, c.device(), c.tuning));
                               });
}

}  // namespace upsweep
