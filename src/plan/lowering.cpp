// SPDX-License-Identifier: Apache-2.0
#include "plan/lowering.h"

#include <algorithm>
#include <cctype>
#include <format>

#include "plan/wgsl_reader.h"

namespace upsweep {
namespace {

std::string splat(const ElementType& type, std::string_view scalar_expression) {
  return type.components == 1 ? std::string(scalar_expression)
                              : std::format("{}({})", type.wgsl_type, scalar_expression);
}

// vec<N> of another component type, or the scalar itself.
std::string same_width(const ElementType& type, std::string_view scalar) {
  return type.components == 1 ? std::string(scalar) : std::format("vec{}<{}>", type.components, scalar);
}

std::unexpected<Error> no_such(const BinaryOperator& op, const ElementType& value, std::string_view why) {
  return fail(ErrorKind::invalid_request,
              std::format("Operator {} is not defined for {} items: {}.", to_string(op), value.name, why));
}

// A float accumulator's value as the stored words of the result.
std::string float_result(const ElementType& result, std::string_view bits_expression) {
  // naga knows no bitcast to vec2<f16>.
  if (result.scalar == Scalar::f16) return std::format("f16(unpack2x16float(f16_bits({})).x)", bits_expression);
  return std::string(bits_expression);
}

void lower_arithmetic(LoweredOperator& lowered, const BinaryOperator& op, const ElementType& value) {
  const bool is_sum = op.kind == OperatorKind::sum;
  if (value.is_64_bit()) {
    lowered.accumulator = "vec2u";
    lowered.parts = {"int64.wgsl"};
    lowered.combine_expression = is_sum ? "add64(a, b)" : "mul64(a, b)";
    lowered.identity_expression = is_sum ? "vec2u(0u, 0u)" : "vec2u(1u, 0u)";
    lowered.result_expression = "a";
    lowered.may_shuffle = true;
    return;
  }
  lowered.accumulator = stored_type(value).value;
  lowered.combine_expression = is_sum ? "a + b" : "a * b";
  lowered.identity_expression = std::format("{}({})", lowered.accumulator, is_sum ? 0 : 1);
  lowered.subgroup_builtin = is_sum ? "subgroupAdd" : "subgroupMul";
  if (value.is_float()) {
    lowered.result_expression = float_result(lowered.result, std::format("bitcast<{}>(a)", same_width(value, "u32")));
    lowered.summation_terms = is_sum ? 1 : 0;
  } else {
    lowered.result_expression = "a";
  }
}

void lower_extremum(LoweredOperator& lowered, const BinaryOperator& op, const ElementType& value) {
  const bool is_min = op.kind == OperatorKind::min;
  const std::string_view wgsl_function = is_min ? "min" : "max";
  if (value.is_64_bit()) {
    lowered.accumulator = "vec2u";
    lowered.parts = {"int64.wgsl"};
    // Signed values are compared with the sign bit flipped.
    const std::string_view flip = value.scalar == Scalar::i64 ? "v ^ vec2u(0u, 0x80000000u)" : "v";
    lowered.import_expression = flip;
    lowered.result_expression = value.scalar == Scalar::i64 ? "a ^ vec2u(0u, 0x80000000u)" : "a";
    lowered.combine_expression = is_min ? "select(a, b, less64(b, a))" : "select(a, b, less64(a, b))";
    lowered.identity_expression = is_min ? "vec2u(0xffffffffu)" : "vec2u(0u)";
    lowered.may_shuffle = true;
    return;
  }
  lowered.subgroup_builtin = is_min ? "subgroupMin" : "subgroupMax";
  lowered.combine_expression = std::format("{}(a, b)", wgsl_function);
  if (value.is_float()) {
    // On keys: WGSL lets an implementation assume that there are no NaN and no infinities, so floats cannot be
    // compared. NaN takes the key that wins; the identity is past every number and turns into the infinity that
    // numpy would need as a start.
    lowered.accumulator = same_width(value, "u32");
    lowered.parts = {"float_key.wgsl", "float_extremum.wgsl"};
    lowered.identity_expression = splat(ElementType::vec(Scalar::u32, value.components), is_min ? "0xffffffffu" : "0u");
    const auto each = [&](std::string_view function, std::string_view argument, std::string_view cast) {
      if (value.components == 1) return std::format("{}({}({}))", function, cast, argument);
      std::string text = std::format("{}(", lowered.accumulator);
      for (std::uint32_t c = 0; c < value.components; ++c) {
        text += std::format("{}{}({}({}.{}))", c == 0 ? "" : ", ", function, cast, argument, "xyzw"[c]);
      }
      return text + ")";
    };
    lowered.import_expression = each(is_min ? "min_key" : "max_key", "v", "bitcast<u32>");
    lowered.result_expression = float_result(lowered.result, each(is_min ? "min_bits" : "max_bits", "a", ""));
    return;
  }
  lowered.accumulator = value.wgsl_type;
  lowered.result_expression = "a";
  const bool is_signed = value.scalar == Scalar::i32;
  const std::string_view largest = is_signed ? "2147483647i" : "0xffffffffu";
  const std::string_view smallest = is_signed ? "i32(-2147483648)" : "0u";
  lowered.identity_expression = splat(value, is_min ? largest : smallest);
}

Status lower_bits(LoweredOperator& lowered, const BinaryOperator& op, const ElementType& value) {
  if (value.is_float()) return no_such(op, value, "it works on the bits of integers");
  const bool is_and = op.kind == OperatorKind::bit_and;
  lowered.accumulator = value.wgsl_type;
  lowered.combine_expression = is_and ? "a & b" : op.kind == OperatorKind::bit_or ? "a | b" : "a ^ b";
  lowered.subgroup_builtin = is_and ? "subgroupAnd" : op.kind == OperatorKind::bit_or ? "subgroupOr" : "subgroupXor";
  const std::string_view ones = value.scalar == Scalar::i32 ? "-1i" : "0xffffffffu";
  const std::string_view zeros = value.scalar == Scalar::i32 ? "0i" : "0u";
  lowered.identity_expression = std::format("{}({})", value.wgsl_type, is_and ? ones : zeros);
  lowered.result_expression = "a";
  return {};
}

Status lower_arg(LoweredOperator& lowered, const BinaryOperator& op, const ElementType& value) {
  if (value.components != 1) return no_such(op, value, "vectors have no order");
  const bool is_min = op.kind == OperatorKind::argmin;
  lowered.result = ElementType::u32();
  lowered.may_shuffle = true;
  // Pairs of (key, index); the least key wins, then the least index. argmax turns the keys round. NaN is the least.
  if (value.is_64_bit()) {
    lowered.accumulator = "vec4u";
    lowered.parts = {"arg_pair.wgsl"};
    const std::string_view sign = value.scalar == Scalar::i64 ? "0x80000000u" : "0u";
    const std::string_view turn = is_min ? "0u" : "0xffffffffu";
    lowered.import_expression = std::format("vec4u(v.y ^ {0} ^ {1}, v.x ^ {1}, i, 0u)", sign, turn);
    lowered.combine_expression = "lesser_triple(a, b)";
    lowered.identity_expression = "vec4u(0xffffffffu)";
    lowered.result_expression = "a.z";
    return {};
  }
  lowered.accumulator = "vec2u";
  lowered.parts = {"arg_pair.wgsl"};
  if (value.is_float()) {
    lowered.parts.emplace_back("float_key.wgsl");
    lowered.import_expression = is_min ? "vec2u(float_key(bitcast<u32>(positive_zero(v)), 0u), i)"
                                       : "vec2u(~float_key(bitcast<u32>(positive_zero(v)), 0xffffffffu), i)";
    lowered.parts.emplace_back("positive_zero.wgsl");
  } else {
    const std::string key = value.scalar == Scalar::i32 ? "(bitcast<u32>(v) ^ 0x80000000u)" : "v";
    lowered.import_expression = std::format("vec2u({}{}, i)", is_min ? "" : "~", key);
  }
  lowered.combine_expression = "lesser_pair(a, b)";
  lowered.identity_expression = "vec2u(0xffffffffu)";
  lowered.result_expression = "a.y";
  return {};
}

Status lower_logical(LoweredOperator& lowered, const BinaryOperator& op, const ElementType& value) {
  if (value.components != 1) return no_such(op, value, "vectors have no truth value");
  const bool is_any = op.kind == OperatorKind::logical_any;
  lowered.result = ElementType::u32();
  lowered.accumulator = "u32";
  // Floats by bits: a device that flushes subnormals would take them for zero.
  lowered.import_expression = value.is_64_bit() ? "select(0u, 1u, any(v != vec2u(0u)))"
                              : value.is_float()
                                  ? "select(0u, 1u, (bitcast<u32>(v) & 0x7fffffffu) != 0u)"
                                  : std::format("select(0u, 1u, v != {})", value.scalar == Scalar::i32 ? "0i" : "0u");
  lowered.combine_expression = is_any ? "a | b" : "a & b";
  lowered.subgroup_builtin = is_any ? "subgroupOr" : "subgroupAnd";
  lowered.identity_expression = is_any ? "0u" : "1u";
  lowered.result_expression = "a";
  return {};
}

bool is_name(std::string_view text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) == 0 &&
         std::ranges::all_of(text, is_word);
}

Status lower_custom(LoweredOperator& lowered, const BinaryOperator& op, const ElementType& value) {
  if (op.function.empty() || op.identity.empty()) {
    return fail(ErrorKind::invalid_request, "A custom operator needs the name of its function and its identity.");
  }
  if (!is_name(op.function)) {
    return fail(ErrorKind::invalid_request, std::format("\"{}\" is no name of a WGSL function.", op.function));
  }
  lowered.accumulator = stored_type(value).value;
  lowered.combine_expression = std::format("{}(a, b)", op.function);
  lowered.identity_expression = op.identity;
  lowered.commutative = op.commutative;
  lowered.may_shuffle = !value.is_struct();
  lowered.result_expression =
      value.is_float() ? float_result(lowered.result, std::format("bitcast<{}>(a)", same_width(value, "u32"))) : "a";
  return {};
}

}  // namespace

StoredType stored_type(const ElementType& type) {
  if (type.scalar == Scalar::f32) {
    const std::string raw = same_width(type, "u32");
    return {raw, type.wgsl_type, std::format("bitcast<{}>(raw)", type.wgsl_type)};
  }
  if (type.scalar == Scalar::f16) return {"f16", "f32", "f32(raw)"};
  return {type.wgsl_type, type.wgsl_type, "raw"};
}

Result<LoweredOperator> lower_operator(const BinaryOperator& op, const ElementType& value, const ElementType* output) {
  LoweredOperator lowered;
  lowered.result = value;
  lowered.commutative = true;
  if (output != nullptr && value.scalar == Scalar::f16 && *output == ElementType::f32()) lowered.result = *output;
  if (value.is_struct() && op.kind != OperatorKind::custom) {
    return no_such(op, value, "structs need an operator given as WGSL text");
  }
  Status status;
  switch (op.kind) {
    case OperatorKind::sum:
    case OperatorKind::product: lower_arithmetic(lowered, op, value); break;
    case OperatorKind::min:
    case OperatorKind::max: lower_extremum(lowered, op, value); break;
    case OperatorKind::bit_and:
    case OperatorKind::bit_or:
    case OperatorKind::bit_xor: status = lower_bits(lowered, op, value); break;
    case OperatorKind::argmin:
    case OperatorKind::argmax: status = lower_arg(lowered, op, value); break;
    case OperatorKind::logical_any:
    case OperatorKind::logical_all: status = lower_logical(lowered, op, value); break;
    case OperatorKind::custom: status = lower_custom(lowered, op, value); break;
  }
  if (!status) return std::unexpected(status.error());
  if (output != nullptr && *output != lowered.result) {
    return fail(ErrorKind::invalid_request, std::format("Operator {} of {} items gives {}, not {}.", to_string(op),
                                                        value.name, lowered.result.name, output->name));
  }
  if (lowered.accumulator == "vec4u") {
    lowered.accumulator_bytes = 16;
  } else if (lowered.accumulator == "vec2u") {
    lowered.accumulator_bytes = 8;
  } else {
    lowered.accumulator_bytes = value.is_struct() ? value.stride_bytes : 4 * value.components;
  }
  if (value.is_64_bit() && lowered.accumulator == "u32") lowered.accumulator_bytes = 4;
  if (lowered.result.scalar == Scalar::f16) lowered.parts.emplace_back("float16.wgsl");
  return lowered;
}

void add_operator(KernelBuilder& builder, const BinaryOperator& op, const ElementType& value,
                  const LoweredOperator& lowered, const OperatorNames& names) {
  builder.alias("Value", stored_type(value).value);
  builder.alias(names.accumulator, lowered.accumulator);
  builder.alias("RawResult", stored_type(lowered.result).raw);
  builder.caller_type(value);
  builder.caller_text(std::format("operator \"{}\"", to_string(op)), op.wgsl);
  builder.generated("adapters", std::format("fn import_value(v: Value, i: u32) -> {} {{ return {}; }}\n",
                                            names.accumulator, lowered.import_expression));
  // Origins of their own: the function that is called and the expression of the identity may be the caller's.
  const bool is_custom = op.kind == OperatorKind::custom;
  builder.generated(is_custom ? std::format("call of operator \"{}\"", op.function) : std::string("adapters"),
                    std::format("fn {0}(a: {1}, b: {1}) -> {1} {{ return {2}; }}\n", names.combine, names.accumulator,
                                lowered.combine_expression));
  builder.generated("adapters", std::format("fn result_value(a: {}) -> RawResult {{ return {}; }}\n", names.accumulator,
                                            lowered.result_expression));
  builder.caller_expression(std::format("identity of operator \"{}\"", to_string(op)),
                            std::format("fn {}() -> {}", names.identity, names.accumulator),
                            lowered.identity_expression);
  for (const std::string& part : lowered.parts) builder.part(part);
}

std::string combine_tree(std::vector<std::string> terms) {
  while (terms.size() > 1) {
    std::vector<std::string> next;
    for (std::size_t i = 0; i + 1 < terms.size(); i += 2)
      next.push_back(std::format("combine({}, {})", terms[i], terms[i + 1]));
    if (terms.size() % 2 != 0) next.push_back(terms.back());
    terms = std::move(next);
  }
  return terms.front();
}

}  // namespace upsweep
