// SPDX-License-Identifier: Apache-2.0
#include "plan/order.h"

#include <format>

#include "plan/lowering.h"

namespace upsweep {

std::string to_string(const KeyOrder& order) {
  if (!order.is_natural()) return order.function;
  return order.reverse ? "descending" : "ascending";
}

MovedItem moved_item(const ElementType& type) {
  if (type.scalar == Scalar::f16) return {.stored = "u32", .raw = "u32", .is_half = true};
  const std::string raw = stored_type(type).raw;
  return {.stored = raw, .raw = raw};
}

std::string load_function(std::string_view name, const MovedItem& item, std::string_view variable,
                          std::string_view first_field) {
  if (!item.is_half) {
    return std::format("fn {}(at: u32) -> {} {{ return {}[params.{} + at]; }}\n", name, item.raw, variable,
                       first_field);
  }
  return std::format(
      "fn {}(at: u32) -> u32 {{\n  let half = params.{} + at;\n  return ({}[half / 2u] >> (half % 2u * 16u)) & "
      "0xffffu;\n}}\n",
      name, first_field, variable);
}

Status check_order(const ElementType& key, const KeyOrder& order, std::string_view call) {
  const auto refuse = [](std::string message) { return fail(ErrorKind::invalid_request, std::move(message)); };
  if (key.size_bytes == 0) return refuse(std::format("Type {} has no size.", key.name));
  if (!order.is_natural()) {
    if (order.function.empty()) return refuse("An order given as WGSL text needs the name of its function.");
    if (order.reverse || order.is_f64) {
      return refuse(
          std::format("The order {} is given as WGSL text, which alone decides: `reverse` and `is_f64` go "
                      "with the natural order.",
                      order.function));
    }
    return {};
  }
  if (!key.scalar || key.components != 1) {
    return refuse(
        std::format("{} of {} needs an order given as WGSL text: u32, i32, f32, f16, u64 and i64 alone have "
                    "a natural one.",
                    call, key.name));
  }
  if (order.is_f64 && key.scalar != Scalar::u64) {
    return refuse(std::format("Bits of doubles are keys of type u64, not {}.", key.name));
  }
  return {};
}

// Floats are sign and magnitude: half of the range plus or minus the magnitude makes -0 and +0 one. All ones is NaN. No
// float is compared, since a WGSL compiler may assume that there are no NaN.
std::string ordered_bits_text(Scalar scalar, bool is_f64, std::string_view type, bool descending) {
  std::string text;
  std::string ordered = "key";
  if (is_f64) {
    text =
        "  let magnitude = vec2u(key.x, key.y & 0x7fffffffu);\n"
        "  let below = vec2u(0u - magnitude.x, 0x80000000u - magnitude.y - u32(magnitude.x != 0u));\n"
        "  let number = select(magnitude + vec2u(0u, 0x80000000u), below, key.y >= 0x80000000u);\n"
        "  let is_nan = magnitude.y > 0x7ff00000u || (magnitude.y == 0x7ff00000u && magnitude.x != 0u);\n";
    ordered = "select(number, vec2u(0xffffffffu), is_nan)";
  } else if (scalar == Scalar::f32) {
    text =
        "  let magnitude = key & 0x7fffffffu;\n"
        "  let sign = bitcast<u32>(bitcast<i32>(key) >> 31u);\n"
        "  let number = 0x80000000u + ((magnitude ^ sign) - sign);\n";
    ordered = "select(number, 0xffffffffu, magnitude > 0x7f800000u)";
  } else if (scalar == Scalar::f16) {
    text =
        "  let magnitude = key & 0x7fffu;\n"
        "  let sign = 0u - (key >> 15u);\n"
        "  let number = 0x8000u + ((magnitude ^ sign) - sign);\n";
    ordered = "select(number, 0xffffu, magnitude > 0x7c00u)";
  } else if (scalar == Scalar::i32) {
    ordered = "bitcast<u32>(key) ^ 0x80000000u";
  } else if (scalar == Scalar::i64) {
    ordered = "key ^ vec2u(0u, 0x80000000u)";
  }
  const bool is_wide = is_f64 || scalar == Scalar::u64 || scalar == Scalar::i64;
  if (descending) ordered = std::format("~({})", ordered);
  return std::format("fn ordered_bits(key: {}) -> {} {{\n{}  return {};\n}}\n", type, is_wide ? "vec2u" : "u32", text,
                     ordered);
}

void add_order(KernelBuilder& builder, const ElementType& key, const KeyOrder& order) {
  const StoredType stored = stored_type(key);
  const bool is_half = key.scalar == Scalar::f16;
  builder.alias("RawKey", moved_item(key).raw);
  builder.caller_type(key);
  constexpr std::string_view head = "fn comes_before(a: RawKey, b: RawKey) -> bool";
  if (!order.is_natural()) {
    builder.caller_text(std::format("order \"{}\"", order.function), order.wgsl);
    builder.alias("Key", stored.value);
    builder.generated("adapters", std::format("fn key_value(raw: RawKey) -> Key {{ return {}; }}\n",
                                              is_half ? "unpack2x16float(raw).x" : stored.load));
    // An origin of its own, so that a message about the call does not name library text.
    builder.generated(std::format("call of order \"{}\"", order.function),
                      std::format("{} {{ return {}(key_value(a), key_value(b)); }}\n", head, order.function));
    return;
  }
  std::string less = order.reverse ? "ordered_bits(b) < ordered_bits(a)" : "ordered_bits(a) < ordered_bits(b)";
  if (key.is_64_bit()) {
    builder.part("int64.wgsl");
    less = order.reverse ? "less64(ordered_bits(b), ordered_bits(a))" : "less64(ordered_bits(a), ordered_bits(b))";
  }
  builder.generated("order", ordered_bits_text(*key.scalar, order.is_f64, "RawKey") +
                                 std::format("{} {{ return {}; }}\n", head, less));
}

}  // namespace upsweep
