// SPDX-License-Identifier: Apache-2.0
#include "upsweep/operator.h"

#include <array>
#include <format>
#include <utility>

namespace upsweep {
namespace {

constexpr std::array<std::pair<std::string_view, OperatorKind>, 11> well_known{{
    {"sum", OperatorKind::sum},
    {"product", OperatorKind::product},
    {"min", OperatorKind::min},
    {"max", OperatorKind::max},
    {"and", OperatorKind::bit_and},
    {"or", OperatorKind::bit_or},
    {"xor", OperatorKind::bit_xor},
    {"argmin", OperatorKind::argmin},
    {"argmax", OperatorKind::argmax},
    {"any", OperatorKind::logical_any},
    {"all", OperatorKind::logical_all},
}};

}  // namespace

std::string to_string(const BinaryOperator& op) {
  for (const auto& [name, kind] : well_known) {
    if (kind == op.kind) return std::string(name);
  }
  return op.function;
}

Result<BinaryOperator> operator_from_name(std::string_view name) {
  std::string names;
  for (const auto& [known, kind] : well_known) {
    if (name == known)
      return BinaryOperator{.kind = kind, .function = {}, .wgsl = {}, .identity = {}, .commutative = true};
    names += names.empty() ? "" : ", ";
    names += known;
  }
  return fail(ErrorKind::invalid_request, std::format("There is no operator \"{}\"; there are {}.", name, names));
}

Transform Transform::clamp(std::string_view low, std::string_view high) {
  return {std::format("clamp(x, {}, {})", low, high), {}};
}

Transform Transform::flush_subnormals() {
  return {"flush_subnormal(x)",
          "fn flush_subnormal(x: f32) -> f32 {\n"
          "  let bits = bitcast<u32>(x);\n"
          "  return bitcast<f32>(select(bits, bits & 0x80000000u, (bits & 0x7f800000u) == 0u));\n"
          "}\n"};
}

}  // namespace upsweep
