// SPDX-License-Identifier: Apache-2.0
#include "plan/tile_items.h"

#include <format>

#include "plan/lowering.h"

namespace upsweep {
namespace {

// The scalar that a raw item is made of, and how many: "u32", 2.
std::string raw_scalar(const ElementType& type) {
  if (type.is_64_bit()) return "u32";
  switch (*type.scalar) {
    case Scalar::i32: return "i32";
    case Scalar::f16: return "f16";
    default: return "u32";
  }
}

std::uint32_t raw_components(const ElementType& type) { return type.is_64_bit() ? 2 : type.components; }

}  // namespace

std::uint32_t unit_items_of(const ElementType& type) {
  if (type.is_struct()) return 1;
  return 4 / raw_components(type);
}

std::string unit_type(const ElementType& type, std::uint32_t unit_items) {
  if (unit_items == 1) return stored_type(type).raw;
  return std::format("vec{}<{}>", unit_items * raw_components(type), raw_scalar(type));
}

std::string unit_item(const ElementType& type, std::uint32_t unit_items, const std::string& unit, std::uint32_t k) {
  if (unit_items == 1) return unit;
  return raw_components(type) == 1 ? std::format("{}.{}", unit, "xyzw"[k])
                                   : std::format("{}.{}", unit, k == 0 ? "xy" : "zw");
}

void add_tile_items(KernelBuilder& builder, const TileItems& items) {
  const StoredType stored = stored_type(items.type);
  builder.alias("RawItem", stored.raw).alias("Item", stored.value);
  builder.alias("RawUnit", unit_type(items.type, items.unit_items));
  builder.caller_type(items.type);
  std::string text = std::format("fn item_value(raw: RawItem) -> Item {{ return {}; }}\n", stored.load);
  const bool vectors = items.unit_items > 1;
  constexpr std::string_view item_head = "fn load_item(position: u32, range: Range) -> RawItem {\n";
  constexpr std::string_view unit_head = "fn load_items(unit: u32, range: Range) -> RawUnit {\n";
  if (!items.from_output) {
    text += "@group(0) @binding(1) var<storage, read> input: array<RawItem>;\n";
    if (vectors) text += "@group(0) @binding(2) var<storage, read> input_units: array<RawUnit>;\n";
    text += std::format("{}  return input[item_place(position, range)];\n}}\n", item_head);
    text += std::format("{}  return {}[unit_place(unit, range)];\n}}\n", unit_head, vectors ? "input_units" : "input");
  } else if (!vectors) {
    text += std::format("{}  return output[output_place(position, range)];\n}}\n", item_head);
    text += std::format("{}  return output[output_place(unit, range)];\n}}\n", unit_head);
  } else {
    const std::string pick = raw_components(items.type) == 1 ? "unit[place % UNIT_ITEMS]"
                                                             : "select(unit.xy, unit.zw, place % UNIT_ITEMS == 1u)";
    text += std::format(
        "{}  let place = output_place(position, range);\n"
        "  let item = place - params.input_first;\n"
        "  if (item >= params.tail_items) {{ return output_tail[item - params.tail_items + params.tail_first]; }}\n"
        "  let unit = output_units[place / UNIT_ITEMS];\n  return {};\n}}\n",
        item_head, pick);
    text += std::format("{}  return output_units[output_unit(unit, range)];\n}}\n", unit_head);
  }
  std::string list;
  for (std::uint32_t memory = 0; memory < items.unit_items; ++memory) {
    list += std::format("{}load_item(clamp(unit * UNIT_ITEMS + {}u, first_readable(range), range.end - 1u), range)",
                        memory == 0 ? "" : ",\n                 ", items.memory_item(memory));
  }
  const std::string by_item = vectors ? std::format("RawUnit({})", list) : list;
  text += std::format("fn load_items_apart(unit: u32, range: Range) -> RawUnit {{\n  return {};\n}}\n", by_item);
  if (!vectors || items.from_output) {
    text +=
        "struct Ends {\n  unused: u32,\n}\nfn load_ends(range: Range) -> Ends { return Ends(0u); }\n"
        "fn load_edge_items(unit: u32, ends: Ends, range: Range) -> RawUnit { return load_items_apart(unit, range); "
        "}\n";
  } else {
    // Only the first and the last unit of a row may be cut: the same for all threads.
    text +=
        "struct Ends {\n  first: RawUnit,\n  last: RawUnit,\n}\n"
        "fn load_ends(range: Range) -> Ends {\n"
        "  return Ends(load_items_apart(first_readable(range) / UNIT_ITEMS, range),\n"
        "              load_items_apart((range.end - 1u) / UNIT_ITEMS, range));\n}\n"
        "fn load_edge_items(unit: u32, ends: Ends, range: Range) -> RawUnit {\n"
        "  let first_whole = (first_readable(range) + UNIT_ITEMS - 1u) / UNIT_ITEMS;\n"
        "  let end_whole = range.end / UNIT_ITEMS;\n"
        "  let whole = load_items(clamp(unit, first_whole, max(end_whole, 1u) - 1u), range);\n"
        "  return select(select(whole, ends.last, unit >= end_whole), ends.first, unit < first_whole);\n}\n";
  }
  builder.generated("items", text);
}

void add_tile_output(KernelBuilder& builder, const ElementType& output, const TileItems& items) {
  builder.caller_type(output);
  builder.alias("RawOutput", stored_type(output).raw);
  const bool vectors = items.unit_items > 1;
  const std::string_view first = items.in_place ? "params.input_first" : "params.output_first";
  std::string text = std::format(
      "fn output_place(position: u32, range: Range) -> u32 {{\n"
      "  return item_place(position, range){};\n}}\n",
      items.in_place ? "" : " - params.input_first + params.output_first");
  std::string values;
  for (std::uint32_t k = 0; k < items.unit_items; ++k) values += std::format("v{}: RawOutput, ", k);
  const std::string head = std::format("fn store_items({}unit: u32, is_full: bool, range: Range) {{\n", values);
  if (!vectors) {
    text += std::format(
        "@group(0) @binding(3) var<storage, read_write> output: array<RawOutput>;\n"
        "{}  if (is_full || (unit >= range.begin && unit < range.end)) {{\n"
        "    output[output_place(unit, range)] = v0;\n  }}\n}}\n",
        head);
    builder.generated("output", text);
    return;
  }
  builder.alias("OutputUnit", unit_type(output, items.unit_items));
  text += std::format(
      "@group(0) @binding(4) var<storage, read_write> output_units: array<OutputUnit>;\n"
      "@group(0) @binding(5) var<storage, read_write> output_tail: array<RawOutput>;\n"
      "fn output_unit(unit: u32, range: Range) -> u32 {{\n  return {};\n}}\n",
      items.in_place
          ? "unit_place(unit, range)"
          : "(unit_place(unit, range) * UNIT_ITEMS - params.input_first + params.output_first) / UNIT_ITEMS");
  std::string list;
  std::string edges;
  for (std::uint32_t k = 0; k < items.unit_items; ++k) {
    list += std::format("{}v{}", k == 0 ? "" : ", ", items.memory_item(k));
    const std::uint32_t memory = items.memory_item(k);
    const std::string whole = raw_components(output) == 1
                                  ? std::format("output_units[at].{} = v{};", "xyzw"[memory], k)
                                  : std::format("output_units[at].{0} = v{2}.x; output_units[at].{1} = v{2}.y;",
                                                "xz"[memory], "yw"[memory], k);
    edges += std::format(
        "  let p{0} = unit * UNIT_ITEMS + {0}u;\n"
        "  if (p{0} >= range.begin && p{0} < range.end) {{\n"
        "    let item = output_place(p{0}, range) - {2};\n"
        "    if (item < params.tail_items) {{ {1} }} else {{ output_tail[item - params.tail_items + params.tail_first] "
        "= v{0}; }}\n"
        "  }}\n",
        k, whole, first);
  }
  text += std::format(
      "{}  let at = output_unit(unit, range);\n  if (is_full) {{\n    output_units[at] = OutputUnit({});\n    "
      "return;\n  }}\n{}}}\n",
      head, list, edges);
  builder.generated("output", text);
}

Status check_equality(const ElementType& type, const Equality& equality) {
  if (equality.expression.empty() && type.is_struct()) {
    return fail(ErrorKind::invalid_request,
                std::format("Items of the struct {} need an equality: a WGSL expression of a and b.", type.name));
  }
  return {};
}

void add_equality(KernelBuilder& builder, std::string_view name, const ElementType& type, const Equality& equality) {
  const std::string head = std::format("fn {0}(a: {1}, b: {1}) -> bool", name, stored_type(type).value);
  const std::string origin = "equality expression";
  builder.caller_text("equality", equality.wgsl);
  if (!equality.expression.empty()) {
    builder.caller_expression(origin, head, equality.expression);
  } else if (type.is_float()) {
    // By bits: WGSL lets an implementation assume that there is no NaN, and a device may flush subnormals.
    const std::string cast = type.components == 1 ? "u32" : std::format("vec{}<u32>", type.components);
    const auto splat = [&](std::string_view word) {
      return type.components == 1 ? std::string(word) : std::format("{}({})", cast, word);
    };
    builder.generated(origin, std::format("{0} {{\n  let x = bitcast<{1}>(a);\n  let y = bitcast<{1}>(b);\n"
                                          "  let m = x & {2};\n  let n = y & {2};\n"
                                          "  return all((x == y) | ((m | n) == {3}) | ((m > {4}) & (n > {4})));\n}}\n",
                                          head, cast, splat("0x7fffffffu"), splat("0u"), splat("0x7f800000u")));
  } else {
    const bool is_vector = type.components > 1 || type.is_64_bit();
    builder.generated(origin, std::format("{} {{ return {}; }}\n", head, is_vector ? "all(a == b)" : "a == b"));
  }
}

std::uint32_t items_per_flag_word(FlagFormat format) {
  return format == FlagFormat::words ? 1 : format == FlagFormat::bytes ? 4 : 32;
}

std::string flag_function(const std::string& name, FlagFormat format, const std::string& variable,
                          const std::string& first_field) {
  const std::string head = std::format("fn {}(index: u32) -> bool {{\n", name);
  switch (format) {
    case FlagFormat::words:
      return std::format("{}  return {}[params.{} + index] != 0u;\n}}\n", head, variable, first_field);
    case FlagFormat::bytes:
      return std::format("{}  return ((({}[params.{} + index / 4u] >> (index % 4u * 8u))) & 0xffu) != 0u;\n}}\n", head,
                         variable, first_field);
    case FlagFormat::bits:
      return std::format("{}  return ((({}[params.{} + index / 32u] >> (index % 32u))) & 1u) != 0u;\n}}\n", head,
                         variable, first_field);
  }
  return {};
}

}  // namespace upsweep
