// SPDX-License-Identifier: Apache-2.0
#include "upsweep/element.h"

#include <algorithm>
#include <array>
#include <format>
#include <vector>

#include "plan/wgsl_reader.h"

namespace upsweep {
namespace {

ElementType builtin(std::string name, std::string wgsl, std::uint32_t bytes, Scalar scalar,
                    std::uint32_t components = 1) {
  return {std::move(name), std::move(wgsl), {}, bytes, bytes, scalar, components};
}

}  // namespace

ElementType ElementType::u32() { return builtin("u32", "u32", 4, Scalar::u32); }
ElementType ElementType::i32() { return builtin("i32", "i32", 4, Scalar::i32); }
ElementType ElementType::f32() { return builtin("f32", "f32", 4, Scalar::f32); }
ElementType ElementType::f16() { return builtin("f16", "f16", 2, Scalar::f16); }
ElementType ElementType::u64() { return builtin("u64", "vec2u", 8, Scalar::u64); }
ElementType ElementType::i64() { return builtin("i64", "vec2u", 8, Scalar::i64); }

ElementType ElementType::vec(Scalar scalar, std::uint32_t components) {
  const char* component = scalar == Scalar::f32 ? "f32" : scalar == Scalar::i32 ? "i32" : "u32";
  const bool has_32_bits = scalar == Scalar::u32 || scalar == Scalar::i32 || scalar == Scalar::f32;
  if (!has_32_bits || (components != 1 && components != 2 && components != 4)) {
    return {.name = "no vector"};  // of no size: planners refuse it
  }
  if (components == 1) return builtin(component, component, 4, scalar);
  const std::string name = std::format("vec{}<{}>", components, component);
  return builtin(name, name, 4 * components, scalar, components);
}

Result<ElementType> ElementType::structure(std::string name, std::string wgsl, std::uint32_t size_bytes,
                                           std::uint32_t stride_bytes) {
  if (!std::ranges::contains(declared_names(wgsl), name)) {
    return fail(ErrorKind::invalid_request, std::format("The text of element type \"{}\" does not declare it.", name));
  }
  if (size_bytes == 0 || size_bytes % 4 != 0 || stride_bytes % 4 != 0 || stride_bytes < size_bytes) {
    return fail(ErrorKind::invalid_request,
                std::format("Element type {}: size {} and stride {} must be multiples of 4 with 0 < size <= stride.",
                            name, size_bytes, stride_bytes));
  }
  ElementType type{.name = name,
                   .wgsl_type = name,
                   .declaration = std::move(wgsl),
                   .size_bytes = size_bytes,
                   .stride_bytes = stride_bytes,
                   .scalar = std::nullopt};
  return type;
}

Result<ElementType> element_type_from_name(std::string_view name) {
  if (name == "u32") return ElementType::u32();
  if (name == "i32") return ElementType::i32();
  if (name == "f32") return ElementType::f32();
  if (name == "f16") return ElementType::f16();
  if (name == "u64") return ElementType::u64();
  if (name == "i64") return ElementType::i64();
  for (const Scalar scalar : {Scalar::u32, Scalar::i32, Scalar::f32}) {
    for (const std::uint32_t components : {2u, 4u}) {
      ElementType type = ElementType::vec(scalar, components);
      const char letter = scalar == Scalar::u32 ? 'u' : scalar == Scalar::i32 ? 'i' : 'f';
      if (name == type.name || name == std::format("vec{}{}", components, letter)) return type;
    }
  }
  return fail(
      ErrorKind::invalid_request,
      std::format("There is no element type \"{}\"; there are u32, i32, f32, f16, u64, i64 and vec2 and vec4 of "
                  "u32, i32, f32.",
                  name));
}

}  // namespace upsweep
