// SPDX-License-Identifier: Apache-2.0
#include "kernel_cases.h"

#include <format>

namespace upsweep {

std::vector<NamedTraits> all_traits() {
  DeviceTraits minimum;
  minimum.f16 = true;
  DeviceTraits subgroup_id = minimum;
  subgroup_id.subgroups = subgroup_id.subgroup_id_builtin = true;
  subgroup_id.subgroup_min_size = subgroup_id.subgroup_max_size = 32;
  DeviceTraits subgroup_index = minimum;
  subgroup_index.subgroups = subgroup_index.subgroup_ids_follow_index = true;
  subgroup_index.subgroup_min_size = 4;
  subgroup_index.subgroup_max_size = 128;
  DeviceTraits emulated = minimum;
  emulated.emulated_subgroup_size = 16;
  emulated.emulated_subgroup_seed = 77;
  return {{"no subgroups", minimum},
          {"subgroup_id", subgroup_id},
          {"subgroups that follow the index", subgroup_index},
          {"emulated subgroups", emulated}};
}

std::vector<Item> built_in_items() {
  std::vector<Item> items{{ElementType::u32(), "u32"}, {ElementType::i32(), "i32"},   {ElementType::f32(), "f32"},
                          {ElementType::f16(), "f32"}, {ElementType::u64(), "vec2u"}, {ElementType::i64(), "vec2u"}};
  for (const Scalar scalar : {Scalar::u32, Scalar::i32, Scalar::f32}) {
    for (const std::uint32_t components : {2u, 4u}) {
      const ElementType type = ElementType::vec(scalar, components);
      items.push_back({type, type.wgsl_type});
    }
  }
  return items;
}

std::vector<Item> structs(KernelSink& sink) {
  struct Text {
    const char* name;
    const char* wgsl;
    std::uint32_t size;
    std::uint32_t stride;
  };
  std::vector<Item> items;
  for (const Text& text : {Text{"Affine", "struct Affine { scale: f32, shift: f32 }", 8, 8},
                           Text{"Box", "struct Box { low: vec3f, high: vec3f }", 28, 32},
                           Text{"Stats", "struct Stats {\n  count: u32,\n  sums: array<vec2u, 3>,\n}\n", 32, 32},
                           Text{"Matrix", "struct Matrix { columns: mat4x4f }", 64, 64}}) {
    auto type = ElementType::structure(text.name, text.wgsl, text.size, text.stride);
    if (!type) {
      sink.fail(type.error().message);
      continue;
    }
    items.push_back({std::move(*type), text.name});
  }
  return items;
}

BinaryOperator custom_operator(const Item& item, bool commutative) {
  return BinaryOperator::custom(
      "pick_one",
      std::format("fn pick_one(a: {0}, b: {0}) -> {0} {{\n  if (is_chosen(b)) {{ return b; }}\n  return a;\n}}\n"
                  "fn is_chosen(item: {0}) -> bool {{\n  let copy = item;\n  return false;\n}}\n",
                  item.value_type),
      item.value_type + "()", commutative);
}

std::vector<BinaryOperator> well_known_operators() {
  return {BinaryOperator::sum(),         BinaryOperator::product(),    BinaryOperator::min(),
          BinaryOperator::max(),         BinaryOperator::bit_and(),    BinaryOperator::bit_or(),
          BinaryOperator::bit_xor(),     BinaryOperator::argmin(),     BinaryOperator::argmax(),
          BinaryOperator::logical_any(), BinaryOperator::logical_all()};
}

bool is_arg(const BinaryOperator& op) { return op.kind == OperatorKind::argmin || op.kind == OperatorKind::argmax; }

bool is_defined(const BinaryOperator& op, const ElementType& type) {
  switch (op.kind) {
    case OperatorKind::custom: return true;
    case OperatorKind::bit_and:
    case OperatorKind::bit_or:
    case OperatorKind::bit_xor: return !type.is_struct() && !type.is_float();
    case OperatorKind::argmin:
    case OperatorKind::argmax:
    case OperatorKind::logical_any:
    case OperatorKind::logical_all: return !type.is_struct() && type.components == 1;
    default: return !type.is_struct();
  }
}

ConstantValue zeros(const ElementType& type) {
  return ConstantValue::from_bytes(std::vector<std::byte>(type.size_bytes, std::byte{0}));
}

}  // namespace upsweep
