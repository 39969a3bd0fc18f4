// SPDX-License-Identifier: Apache-2.0
// Kernels of reductions by key: every two properties meet, and every operator every type of values both paths.
#include <algorithm>
#include <format>

#include "tile_cases.h"
#include "upsweep/runs.h"

namespace upsweep {
namespace {

struct ReduceByKeyCase : TileCase {  // its item is the key
  Item value = {ElementType::u32(), "u32"};
  std::optional<BinaryOperator> combine;  // or one of the caller's
  bool commutes = true;
  bool has_equality = true;
  bool has_f32_result = false;
};

ReduceByKeyShape shape_of(const ReduceByKeyCase& c) {
  ReduceByKeyShape shape{.item_count = c.count(), .key = c.item.type, .input = c.value.type};
  if (c.fills_binding) {
    const std::uint64_t items =
        window_binding_bytes / std::max({4u, c.item.type.stride_bytes, c.value.type.stride_bytes});
    shape.item_count.max = items;
  }
  shape.combine = c.combine ? *c.combine : custom_operator(c.value, c.commutes);
  if (c.has_equality) shape.equality = any_equality(c.item);
  if (c.has_f32_result) shape.output = ElementType::f32();
  return shape;
}

ScanOffsets offsets_of(const ReduceByKeyCase& c) {
  ScanOffsets offsets = c.offsets();
  if (c.fills_binding) offsets.output_bytes = c.value.type.stride_bytes;
  return offsets;
}

bool is_possible(const ReduceByKeyCase& c) {
  const ReduceByKeyShape shape = shape_of(c);
  if (!is_defined(shape.combine, c.value.type)) return false;
  if (c.item.type.is_struct() && !c.has_equality) return false;
  const bool gives_u32 = is_arg(shape.combine) || shape.combine.kind == OperatorKind::logical_any ||
                         shape.combine.kind == OperatorKind::logical_all;
  if (c.has_f32_result && (c.value.type != ElementType::f16() || gives_u32)) return false;
  if (!c.is_single_pass()) return true;
  // The number of runs takes a word of the four.
  const ElementType& type = c.value.type;
  const std::uint32_t value_words = is_arg(shape.combine) ? (type.is_64_bit() ? 4 : 2)
                                    : gives_u32           ? 1
                                    : type.is_64_bit()    ? 2
                                                          : type.components;
  return !type.is_struct() && value_words <= 3 && c.state_fits();
}

Factor<ReduceByKeyCase> operator_factor() {
  Factor<ReduceByKeyCase> factor{{"an operator of the caller's", [](ReduceByKeyCase&) {}},
                                 {"an ordered operator", [](ReduceByKeyCase& c) { c.commutes = false; }}};
  for (const BinaryOperator& op : well_known_operators()) {
    factor.push_back({to_string(op), [op](ReduceByKeyCase& c) { c.combine = op; }});
  }
  return factor;
}

Factor<ReduceByKeyCase> value_factor(const std::vector<Item>& items) {
  Factor<ReduceByKeyCase> factor;
  for (const Item& item : items) {
    factor.push_back({"values of " + item.type.name, [item](ReduceByKeyCase& c) { c.value = item; }});
  }
  factor.push_back({"values of f16, results of f32", [](ReduceByKeyCase& c) {
                      c.value = {ElementType::f16(), "f32"};
                      c.has_f32_result = true;
                    }});
  return factor;
}

}  // namespace

void add_reduce_by_key_kernels(KernelSink& sink) {
  std::vector<Item> items = built_in_items();
  for (Item& item : structs(sink)) items.push_back(std::move(item));
  const std::vector<Item> values{items[0], items[1], items[2], items[3], items[5], items[6], items[11], items.back()};
  const auto use = [&](const ReduceByKeyCase& c, const std::string& name) {
    sink.add("reduce_by_key: " + name, plan_reduce_by_key(shape_of(c), c.device(), c.tuning, offsets_of(c)));
  };
  for_each_case<ReduceByKeyCase>(
      {item_factor<ReduceByKeyCase>(items), value_factor(values), operator_factor(),
       switch_factor<ReduceByKeyCase>("by value", [](ReduceByKeyCase& c) { c.has_equality = false; }),
       path_factor<ReduceByKeyCase>(), tuning_factor<ReduceByKeyCase>(), device_factor<ReduceByKeyCase>(),
       one_binding_size_factor<ReduceByKeyCase>(), count_factor<ReduceByKeyCase>(), offset_factor<ReduceByKeyCase>()},
      choose_pairs, is_possible, use);
  for_each_case<ReduceByKeyCase>({item_factor<ReduceByKeyCase>({items[0], items[3], items[4]}), value_factor(values),
                                  path_factor<ReduceByKeyCase>()},
                                 choose_all, is_possible, use);
  for_each_case<ReduceByKeyCase>({count_factor<ReduceByKeyCase>()}, choose_all, is_possible,
                                 [&](const ReduceByKeyCase& c, const std::string& name) {
                                   ReduceByKeyShape shape = shape_of(c);
                                   shape.item_count.max = 0;
                                   sink.add("reduce_by_key of nothing: " + name,
                                            plan_reduce_by_key(shape, c.device(), c.tuning));
                                 });
  // Of many tiles keys and values are taken apart; with more buffers than the least, results are folded into.
  for (const NamedTraits& device : all_traits()) {
    for (const ElementType& value : {ElementType::f32(), ElementType::u32(), ElementType::i32()}) {
      for (const BinaryOperator& op : {BinaryOperator::sum(), BinaryOperator::max(), BinaryOperator::argmin(),
                                       BinaryOperator::product(), custom_operator({value, value.wgsl_type}, false)}) {
        for (const bool on_device : {false, true}) {
          for (const std::uint32_t buffers : {device.traits.max_storage_buffers, 10u}) {
            const ReduceByKeyShape shape{.item_count = {1 << 20, on_device}, .input = value, .combine = op};
            DeviceTraits traits = device.traits;
            traits.max_storage_buffers = buffers;
            sink.add(std::format("reduce_by_key: {} of many tiles of {} on {} with {} buffers", to_string(op),
                                 value.name, device.name, buffers),
                     plan_reduce_by_key(shape, traits, ScanTuning{.workgroup_size = 64, .rows = 8}));
          }
        }
      }
    }
  }
  // Sums that wrap have kernels of their own where whole subgroups scan.
  for (const NamedTraits& device : all_traits()) {
    for (const ScanPath path : {ScanPath::two_pass, ScanPath::single_pass}) {
      for (const ElementType& key : {ElementType::u32(), ElementType::f32()}) {
        for (const ElementType& value : {ElementType::u32(), ElementType::i32()}) {
          for (const bool on_device : {false, true}) {
            ReduceByKeyShape shape{.item_count = {1 << 20, on_device}, .key = key, .input = value};
            shape.combine = BinaryOperator::sum();
            const ScanTuning tuning{.path = path, .workgroup_size = 128, .rows = 4};
            DeviceTraits traits = device.traits;
            traits.look_back = true;
            sink.add(std::format("reduce_by_key: sums of {} by {} on {}", value.name, key.name, device.name),
                     plan_reduce_by_key(shape, traits, tuning));
          }
        }
      }
    }
  }
}

}  // namespace upsweep
