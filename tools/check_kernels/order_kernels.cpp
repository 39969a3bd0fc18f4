// SPDX-License-Identifier: Apache-2.0
// Kernels of what compares keys by an order: search, is_sorted, merge, merge sort. Each key has every order; every two
// of the other properties meet.
#include <format>

#include "combinations.h"
#include "kernel_cases.h"
#include "upsweep/is_sorted.h"
#include "upsweep/merge.h"
#include "upsweep/merge_sort.h"
#include "upsweep/search.h"

namespace upsweep {
namespace {

struct OrderCase {
  ElementType key = ElementType::u32();
  KeyOrder order = {};
  std::optional<ElementType> value = {};
  bool write_keys = true;
  bool write_indices = false;
  bool left_on_device = false;
  bool right_on_device = false;
  SearchBound bound = SearchBound::lower;
  std::uint32_t items_per_thread = 3;
  std::uint32_t split_pass_items = 0;
};

ElementType triple() { return *ElementType::structure("Triple", "struct Triple { a: u32, b: f32, c: u32 }", 12, 12); }

// Numbers in their natural orders, and each kind of type by an order given as text.
Factor<OrderCase> keys() {
  Factor<OrderCase> factor;
  for (const ElementType& type : {ElementType::u32(), ElementType::i32(), ElementType::f32(), ElementType::f16(),
                                  ElementType::u64(), ElementType::i64()}) {
    factor.push_back({type.name, [type](OrderCase& c) { c.key = type; }});
    factor.push_back({type.name + " descending", [type](OrderCase& c) {
                        c.key = type;
                        c.order = KeyOrder::descending();
                      }});
  }
  factor.push_back({"f64", [](OrderCase& c) {
                      c.key = ElementType::u64();
                      c.order = KeyOrder::doubles();
                    }});
  const auto given = [&](const ElementType& type, const std::string& value, const std::string& expression) {
    const std::string text = std::format("fn lies_before(a: {0}, b: {0}) -> bool {{ return {1}; }}", value, expression);
    factor.push_back({type.name + " by text", [type, text](OrderCase& c) {
                        c.key = type;
                        c.order = KeyOrder::less("lies_before", text);
                      }});
  };
  given(ElementType::f32(), "f32", "abs(a) < abs(b)");
  given(ElementType::f16(), "f32", "abs(a) < abs(b)");
  given(ElementType::i64(), "vec2u", "a.x < b.x");
  given(ElementType::vec(Scalar::f32, 2), "vec2f", "dot(a, a) < dot(b, b)");
  given(ElementType::vec(Scalar::i32, 4), "vec4i", "a.w < b.w");
  given(triple(), "Triple", "a.a < b.a || (a.a == b.a && a.b < b.b)");
  return factor;
}

Factor<OrderCase> payloads() {
  const auto values = [](const ElementType& type) { return [type](OrderCase& c) { c.value = type; }; };
  return {{"", [](OrderCase&) {}},
          {"u32 values", values(ElementType::u32())},
          {"f16 values", values(ElementType::f16())},
          {"u64 values", values(ElementType::u64())},
          {"vec4 values", values(ElementType::vec(Scalar::f32, 4))},
          {"12-byte values", values(triple())}};
}

Factor<OrderCase> flag(std::string name, std::function<void(OrderCase&)> set) {
  return {{"", [](OrderCase&) {}}, {std::move(name), std::move(set)}};
}

Factor<OrderCase> left_counts() {
  return flag("count on the device", [](OrderCase& c) { c.left_on_device = true; });
}
Factor<OrderCase> right_counts() {
  return flag("other count on the device", [](OrderCase& c) { c.right_on_device = true; });
}
Factor<OrderCase> shares() {
  return flag("an even share", [](OrderCase& c) { c.items_per_thread = 4; });
}

Factor<OrderCase> splits() {
  return flag("no pass for splits", [](OrderCase& c) { c.split_pass_items = 0xffffffffu; });
}

DeviceTraits least() { return DeviceTraits::webgpu_minimum(); }  // without f16

}  // namespace

void add_order_kernels(KernelSink& sink) {
  const auto any = [](const OrderCase&) { return true; };
  for_each_case<OrderCase>({keys(), left_counts(), right_counts(),
                            flag("upper", [](OrderCase& c) { c.bound = SearchBound::upper; }), shares()},
                           choose_pairs, any, [&](const OrderCase& c, const std::string& name) {
                             const SearchShape shape{.item_count = {100'000, c.left_on_device},
                                                     .query_count = {100'000, c.right_on_device},
                                                     .item = c.key,
                                                     .order = c.order,
                                                     .bound = c.bound};
                             sink.add(
                                 "search: " + name,
                                 plan_search(shape, least(), SearchTuning{.queries_per_thread = c.items_per_thread}));
                           });
  for_each_case<OrderCase>(
      {keys(), left_counts()}, choose_pairs, any, [&](const OrderCase& c, const std::string& name) {
        sink.add("is_sorted: " + name,
                 plan_is_sorted({.item_count = {1000, c.left_on_device}, .input = c.key, .order = c.order}, least()));
      });
  for_each_case<OrderCase>({keys(), payloads(), left_counts(), right_counts(), shares(), splits()}, choose_pairs, any,
                           [&](const OrderCase& c, const std::string& name) {
                             const MergeShape shape{.left_count = {5000, c.left_on_device},
                                                    .right_count = {7000, c.right_on_device},
                                                    .key = c.key,
                                                    .order = c.order,
                                                    .value = c.value};
                             sink.add("merge: " + name,
                                      plan_merge(shape, least(),
                                                 MergeTuning{.workgroup_size = 64,
                                                             .items_per_thread = c.items_per_thread,
                                                             .split_pass_items = c.split_pass_items}));
                           });
  const auto has_result = [](const OrderCase& c) { return c.write_keys || c.write_indices || c.value; };
  for_each_case<OrderCase>(
      {keys(), payloads(), left_counts(), shares(), flag("no keys", [](OrderCase& c) { c.write_keys = false; }),
       flag("indices", [](OrderCase& c) { c.write_indices = true; }), splits()},
      choose_pairs, has_result, [&](const OrderCase& c, const std::string& name) {
        const MergeSortShape shape{.item_count = {5000, c.left_on_device},
                                   .key = c.key,
                                   .order = c.order,
                                   .value = c.value,
                                   .write_keys = c.write_keys,
                                   .write_indices = c.write_indices};
        sink.add("merge_sort: " + name, plan_merge_sort(shape, least(),
                                                        MergeSortTuning{.sort_workgroup_size = 64,
                                                                        .sort_items_per_thread = c.items_per_thread,
                                                                        .merge_workgroup_size = 64,
                                                                        .merge_items_per_thread = c.items_per_thread,
                                                                        .split_pass_items = c.split_pass_items}));
      });
  // What the library takes by itself.
  for (const NamedTraits& device : all_traits()) {
    for (const ElementType& key : {ElementType::u32(), ElementType::u64()}) {
      MergeSortShape shape{.item_count = Count::on_host(1 << 20), .key = key};
      sink.add(std::format("merge sort of {} keys on {}", key.name, device.name),
               plan_merge_sort(shape, device.traits));
      shape.value = ElementType::u32();
      sink.add(std::format("merge sort of {} pairs on {}", key.name, device.name),
               plan_merge_sort(shape, device.traits));
    }
    sink.add(std::format("merge on {}", device.name),
             plan_merge({.left_count = Count::on_host(5000), .right_count = Count::on_host(5000)}, device.traits));
    sink.add(std::format("search on {}", device.name),
             plan_search({.item_count = Count::on_host(5000), .query_count = Count::on_host(1 << 20)}, device.traits));
    sink.add(std::format("is_sorted on {}", device.name),
             plan_is_sorted({.item_count = Count::on_host(5000)}, device.traits));
  }
}

}  // namespace upsweep
