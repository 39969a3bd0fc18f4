// SPDX-License-Identifier: Apache-2.0
// Kernels of scans. Every two properties meet; multiplied out is what interacts in one function of the text:
//   how values travel: types x operators x ways through the workgroup x paths x segments
//   how items travel: types x direction x in place x vectors x paths
//   where segments begin: kinds of segments x direction x kind of scan x initial value x vectors
#include <algorithm>
#include <format>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plan/lowering.h"
#include "tile_cases.h"
#include "upsweep/scan.h"

namespace upsweep {
namespace {

enum class Rows : std::uint8_t { none, short_ones, long_ones };

struct ScanCase : TileCase {
  std::function<BinaryOperator(const Item&)> combine = [](const Item&) { return BinaryOperator::sum(); };
  ScanShape shape;  // its kind, direction, segments by flags and keys, total, in place
  Rows rows = Rows::none;
  bool has_init = false;
  bool is_changed_on_load = false;
  bool is_changed_on_store = false;
  std::optional<Item> value;          // that a transform makes
  std::optional<ElementType> output;  // that a store transform makes
  std::optional<ElementType> result;
};

std::string change(const std::string& name, const std::string& type) {
  return std::format("fn {0}(x: {1}, i: u32) -> {1} {{\n  if (i == 3u) {{ return {1}(); }}\n  return x;\n}}\n", name,
                     type);
}

bool gives_index_or_truth(const BinaryOperator& op) {
  return is_arg(op) || op.kind == OperatorKind::logical_any || op.kind == OperatorKind::logical_all;
}

ScanShape shape_of(const ScanCase& c) {
  ScanShape shape = c.shape;
  const Item value = c.value.value_or(c.item);
  shape.item_count = c.count();
  shape.input = c.item.type;
  shape.combine = c.combine(value);
  shape.result = c.result;
  if (c.value) {
    shape.value = value.type;
    shape.transform =
        Transform::of(std::format("{}({})", value.value_type, value.type.is_float() ? "f32(i)" : "i32(i)"));
  } else if (c.is_changed_on_load) {
    shape.transform = Transform::of("changed(x, i)", change("changed", value.value_type));
  }
  const ElementType result =
      shape.result.value_or(gives_index_or_truth(shape.combine) ? ElementType::u32() : value.type);
  if (c.output) {
    shape.output = c.output;
    shape.store = Transform::of(c.output->is_64_bit() ? "vec2u(i)" : "f32(i)");
  } else if (c.is_changed_on_store) {
    shape.store = Transform::of("stored_value(x, i)", change("stored_value", stored_type(result).value));
  }
  if (c.has_init) shape.init = zeros(value.type);
  if (c.rows != Rows::none) {
    const std::uint32_t row_length = c.rows == Rows::short_ones ? 7 : static_cast<std::uint32_t>(c.items() / 2);
    const std::uint64_t row_count = c.items() / row_length;
    shape.item_count = {};
    shape.segments =
        ScanSegments::rows(c.counts_on_device ? Count::on_device(row_count) : Count::on_host(row_count), row_length);
  }
  return shape;
}

bool has_heads(const ScanShape& shape) {
  return shape.segments.kind == ScanSegments::Kind::flags || shape.segments.kind == ScanSegments::Kind::keys;
}

// Short rows are walked as segments of one row.
bool walks_rows(const ScanCase& c, const ScanShape& shape) {
  return c.rows != Rows::none && !shape.write_total && shape.segments.row_length < 2 * c.tuning.workgroup_size;
}

// Words of what travels between tiles; 0 if it is no sequence of words.
std::uint32_t record_words(const ScanCase& c, const ScanShape& shape) {
  const ElementType value = c.value.value_or(c.item).type;
  if (value.is_struct()) return 0;
  std::uint32_t words = value.is_64_bit() ? 2 : value.components;
  if (is_arg(shape.combine)) words = value.is_64_bit() ? 4 : 2;
  if (gives_index_or_truth(shape.combine) && !is_arg(shape.combine)) words = 1;
  return words + (has_heads(shape) || walks_rows(c, shape) ? 1 : 0);
}

bool is_possible(const ScanCase& c) {
  const ScanShape shape = shape_of(c);
  const ElementType value = shape.value.value_or(shape.input);
  const ElementType result = shape.result.value_or(gives_index_or_truth(shape.combine) ? ElementType::u32() : value);
  const ElementType output = shape.output.value_or(result);
  const bool is_alike =
      output.stride_bytes == shape.input.stride_bytes && stored_type(output).raw == stored_type(shape.input).raw;
  if (!is_defined(shape.combine, value)) return false;
  if (c.result && (shape.input != ElementType::f16() || c.value || gives_index_or_truth(shape.combine))) return false;
  if (c.has_init && is_arg(shape.combine)) return false;
  if (shape.write_total && has_heads(shape)) return false;
  if (c.rows != Rows::none && has_heads(c.shape)) return false;
  if (shape.in_place && !is_alike) return false;
  if (c.has_windows && shape.reverse && has_heads(shape)) return false;
  if (!c.is_single_pass()) return true;
  const std::uint32_t words = record_words(c, shape);
  const bool is_one_row = c.rows == Rows::none || walks_rows(c, shape);
  return words >= 1 && words <= 4 && !shape.in_place && is_one_row && c.state_fits();
}

Factor<ScanCase> operator_factor(bool all) {
  Factor<ScanCase> factor;
  std::vector<BinaryOperator> operators = well_known_operators();
  if (!all) operators = {BinaryOperator::sum(), BinaryOperator::max()};
  for (const BinaryOperator& op : operators) {
    factor.push_back({to_string(op), [op](ScanCase& c) { c.combine = [op](const Item&) { return op; }; }});
  }
  for (const bool commutes : {true, false}) {
    factor.push_back({commutes ? "an operator of the caller's" : "an ordered operator", [commutes](ScanCase& c) {
                        c.combine = [commutes](const Item& item) { return custom_operator(item, commutes); };
                      }});
  }
  // Of any type, so that it goes with every other factor.
  std::swap(factor.front(), *(factor.end() - 2));
  return factor;
}

Factor<ScanCase> segment_factor(const std::vector<Item>& user_types) {
  Factor<ScanCase> factor{{"", [](ScanCase&) {}}};
  for (const auto& [name, format] : flag_formats()) {
    factor.push_back({name, [format](ScanCase& c) { c.shape.segments = ScanSegments::flags(format); }});
  }
  std::vector<ScanSegments> by_keys;
  for (const ElementType& key :
       {ElementType::u32(), ElementType::f16(), ElementType::u64(), ElementType::vec(Scalar::f32, 4)}) {
    by_keys.push_back(ScanSegments::keys(key));
  }
  by_keys.push_back(
      ScanSegments::keys(ElementType::f32(),
                         Equality::of("close(a, b)", "fn close(a: f32, b: f32) -> bool { return abs(a - b) < 1.0; }")));
  by_keys.push_back(ScanSegments::keys(user_types.front().type, Equality::of("a.scale == b.scale")));
  for (const ScanSegments& segments : by_keys) {
    factor.push_back(
        {std::format("keys of {}", segments.key.name), [segments](ScanCase& c) { c.shape.segments = segments; }});
  }
  factor.push_back({"short rows", [](ScanCase& c) { c.rows = Rows::short_ones; }});
  factor.push_back({"long rows", [](ScanCase& c) { c.rows = Rows::long_ones; }});
  return factor;
}

Factor<ScanCase> load_factor() {
  const auto to = [](const ElementType& type) {
    return [item = Item{type, type.wgsl_type}](ScanCase& c) { c.value = item; };
  };
  return {{"", [](ScanCase&) {}},
          {"transformed", [](ScanCase& c) { c.is_changed_on_load = true; }},
          {"transformed to f32", to(ElementType::f32())},
          {"transformed to vec2<i32>", to(ElementType::vec(Scalar::i32, 2))},
          {"result of f32", [](ScanCase& c) { c.result = ElementType::f32(); }}};
}

Factor<ScanCase> store_factor() {
  Factor<ScanCase> factor{{"", [](ScanCase&) {}},
                          {"changed as it is stored", [](ScanCase& c) { c.is_changed_on_store = true; }}};
  for (const ElementType& type : {ElementType::f32(), ElementType::f16(), ElementType::u64()}) {
    factor.push_back({std::format("stored as {}", type.name), [type](ScanCase& c) { c.output = type; }});
  }
  return factor;
}

Factor<ScanCase> kind_factor() {
  return switch_factor<ScanCase>("exclusive", [](ScanCase& c) { c.shape.kind = ScanKind::exclusive; });
}
Factor<ScanCase> reverse_factor() {
  return switch_factor<ScanCase>("reverse", [](ScanCase& c) { c.shape.reverse = true; });
}
Factor<ScanCase> in_place_factor() {
  return switch_factor<ScanCase>("in place", [](ScanCase& c) { c.shape.in_place = true; });
}
Factor<ScanCase> init_factor() {
  return switch_factor<ScanCase>("init", [](ScanCase& c) { c.has_init = true; });
}

// One of a few levels by name.
Factor<ScanCase> only(const Factor<ScanCase>& factor, std::initializer_list<std::size_t> levels) {
  Factor<ScanCase> few;
  for (const std::size_t level : levels) few.push_back(factor.at(level));
  return few;
}

}  // namespace

void add_scan_kernels(KernelSink& sink) {
  const std::vector<Item> items = built_in_items();
  const std::vector<Item> user_types = structs(sink);
  std::vector<Item> all_items = items;
  all_items.insert(all_items.end(), user_types.begin(), user_types.end());
  const auto use = [&](const ScanCase& c, const std::string& name) {
    sink.add("scan: " + name, plan_scan(shape_of(c), c.device(), c.tuning, c.offsets()));
  };
  const Factor<ScanCase> segments = segment_factor(user_types);
  const Factor<ScanCase> all_paths = path_factor<ScanCase>();
  const Factor<ScanCase> paths = only(all_paths, {0, 1});
  const Factor<ScanCase> devices = device_factor<ScanCase>();
  for_each_case<ScanCase>(
      {item_factor<ScanCase>(all_items), operator_factor(true), segments, load_factor(), store_factor(), all_paths,
       tuning_factor<ScanCase>(), devices, size_factor<ScanCase>(), kind_factor(), reverse_factor(), in_place_factor(),
       init_factor(), switch_factor<ScanCase>("total", [](ScanCase& c) { c.shape.write_total = true; }),
       count_factor<ScanCase>(), offset_factor<ScanCase>()},
      choose_pairs, is_possible, use);
  for_each_case<ScanCase>({item_factor<ScanCase>({items[0], items[2], items[3], items[4], items[7], items[11]}),
                           operator_factor(false), only(segments, {0, 1}), paths, only(devices, {0, 2})},
                          choose_all, is_possible, use);
  for_each_case<ScanCase>(
      {item_factor<ScanCase>({items[0], items[3], items[4], items[11], user_types[0]}), paths, reverse_factor(),
       in_place_factor(), offset_factor<ScanCase>(), only(size_factor<ScanCase>(), {0, 2})},
      choose_all, is_possible, use);
  for_each_case<ScanCase>({only(segments, {0, 1, 3, 4, 10}), kind_factor(), reverse_factor(), init_factor(),
                           offset_factor<ScanCase>(), paths},
                          choose_all, is_possible, use);
  for_each_case<ScanCase>({item_factor<ScanCase>({items[0], items[4], items[11]}), only(segments, {0, 1}),
                           only(devices, {0, 1}), test_factor<ScanCase>()},
                          choose_all, is_possible, use);
  // No items: the total alone.
  for_each_case<ScanCase>(
      {item_factor<ScanCase>(all_items), operator_factor(false), init_factor(), count_factor<ScanCase>(),
       switch_factor<ScanCase>("long rows", [](ScanCase& c) { c.rows = Rows::long_ones; })},
      choose_pairs, is_possible, [&](const ScanCase& c, const std::string& name) {
        ScanShape shape = shape_of(c);
        shape.item_count.max = 0;
        shape.segments.row_length = 0;
        shape.write_total = true;
        sink.add("scan of nothing: " + name, plan_scan(shape, c.device(), c.tuning));
      });
  for (const Item& item : all_items) {
    for (const BinaryOperator& op : well_known_operators()) {
      if (is_defined(op, item.type)) continue;
      const ScanShape shape{.item_count = Count::on_host(100), .input = item.type, .combine = op};
      sink.expect_refused(std::format("scan: {} of {}", to_string(op), item.type.name),
                          plan_scan(shape, all_traits()[0].traits));
    }
  }
}

}  // namespace upsweep
