// SPDX-License-Identifier: Apache-2.0
// Kernels of run-length encoding: every two properties meet, and all outputs with and without runs of one item.
#include <format>

#include "tile_cases.h"
#include "upsweep/runs.h"

namespace upsweep {
namespace {

struct RunLengthCase : TileCase {
  bool has_equality = true;
  RunLengthShape shape{.write_values = false, .write_lengths = false};  // what it writes
};

RunLengthShape shape_of(const RunLengthCase& c) {
  RunLengthShape shape = c.shape;
  shape.item_count = c.count();
  shape.input = c.item.type;
  if (c.has_equality) shape.equality = any_equality(c.item);
  return shape;
}

bool is_possible(const RunLengthCase& c) {
  if (c.item.type.is_struct() && !c.has_equality) return false;
  const bool writes_words = c.shape.write_lengths || c.shape.write_offsets;
  if (c.fills_binding && writes_words && c.item.type.stride_bytes < 4) return false;
  return !c.is_single_pass() || c.state_fits();
}

}  // namespace

void add_run_length_kernels(KernelSink& sink) {
  std::vector<Item> items = built_in_items();
  for (Item& item : structs(sink)) items.push_back(std::move(item));
  const Factor<RunLengthCase> values =
      switch_factor<RunLengthCase>("values", [](RunLengthCase& c) { c.shape.write_values = true; });
  const Factor<RunLengthCase> lengths =
      switch_factor<RunLengthCase>("lengths", [](RunLengthCase& c) { c.shape.write_lengths = true; });
  const Factor<RunLengthCase> offsets =
      switch_factor<RunLengthCase>("offsets", [](RunLengthCase& c) { c.shape.write_offsets = true; });
  const Factor<RunLengthCase> repeated =
      switch_factor<RunLengthCase>("repeated ones", [](RunLengthCase& c) { c.shape.only_repeated = true; });
  const auto use = [&](const RunLengthCase& c, const std::string& name) {
    sink.add("run_length: " + name, plan_run_length(shape_of(c), c.device(), c.tuning, c.offsets()));
  };
  for_each_case<RunLengthCase>(
      {item_factor<RunLengthCase>(items),
       switch_factor<RunLengthCase>("by value", [](RunLengthCase& c) { c.has_equality = false; }), values, lengths,
       offsets, repeated, path_factor<RunLengthCase>(), tuning_factor<RunLengthCase>(), device_factor<RunLengthCase>(),
       one_binding_size_factor<RunLengthCase>(), count_factor<RunLengthCase>(), offset_factor<RunLengthCase>()},
      choose_pairs, is_possible, use);
  for_each_case<RunLengthCase>(
      {values, lengths, offsets, repeated, path_factor<RunLengthCase>(), one_binding_size_factor<RunLengthCase>()},
      choose_all, is_possible, use);
  for_each_case<RunLengthCase>(
      {count_factor<RunLengthCase>()}, choose_all, is_possible, [&](const RunLengthCase& c, const std::string& name) {
        RunLengthShape shape = shape_of(c);
        shape.item_count.max = 0;
        sink.add("run_length of nothing: " + name, plan_run_length(shape, c.device(), c.tuning));
      });
  // Of many tiles runs are only counted.
  for (const NamedTraits& device : all_traits()) {
    for (const ScanPath path : {ScanPath::two_pass, ScanPath::single_pass}) {
      for (const ElementType& type : {ElementType::u32(), ElementType::i32(), ElementType::f32()}) {
        for (const bool has_more : {false, true}) {
          const RunLengthShape shape{
              .item_count = {1 << 20, has_more}, .input = type, .write_values = !has_more, .write_offsets = has_more};
          sink.add(
              std::format("run_length: many tiles of {} on {}{}", type.name, device.name, has_more ? ", more" : ""),
              plan_run_length(shape, device.traits, ScanTuning{.path = path, .workgroup_size = 128, .rows = 2}));
        }
      }
    }
  }
}

}  // namespace upsweep
