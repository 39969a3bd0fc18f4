// SPDX-License-Identifier: Apache-2.0
#include "plan/lowering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace upsweep {
namespace {

using ::testing::HasSubstr;

const std::vector<ElementType>& builtin_types() {
  static const std::vector<ElementType> types{ElementType::u32(),
                                              ElementType::i32(),
                                              ElementType::f32(),
                                              ElementType::f16(),
                                              ElementType::u64(),
                                              ElementType::i64(),
                                              ElementType::vec(Scalar::u32, 2),
                                              ElementType::vec(Scalar::i32, 2),
                                              ElementType::vec(Scalar::f32, 2),
                                              ElementType::vec(Scalar::u32, 4),
                                              ElementType::vec(Scalar::i32, 4),
                                              ElementType::vec(Scalar::f32, 4)};
  return types;
}

const std::vector<BinaryOperator>& well_known_operators() {
  static const std::vector<BinaryOperator> operators{
      BinaryOperator::sum(),     BinaryOperator::product(),     BinaryOperator::min(),        BinaryOperator::max(),
      BinaryOperator::bit_and(), BinaryOperator::bit_or(),      BinaryOperator::bit_xor(),    BinaryOperator::argmin(),
      BinaryOperator::argmax(),  BinaryOperator::logical_any(), BinaryOperator::logical_all()};
  return operators;
}

std::string identity_of(const BinaryOperator& op, const ElementType& type) {
  const auto lowered = lower_operator(op, type, nullptr);
  return lowered ? lowered->identity_expression : lowered.error().message;
}

std::string error_of(const BinaryOperator& op, const ElementType& type, const ElementType* output = nullptr) {
  const auto lowered = lower_operator(op, type, output);
  return lowered ? "accepted" : lowered.error().message;
}

TEST(ElementTypes, AreFoundByTheNamesThatTheyHave) {
  for (const ElementType& type : builtin_types()) {
    const auto found = element_type_from_name(type.name);
    ASSERT_TRUE(found) << type.name;
    EXPECT_EQ(*found, type);
  }
  EXPECT_EQ(*element_type_from_name("vec4f"), ElementType::vec(Scalar::f32, 4));
  EXPECT_EQ(*element_type_from_name("vec2i"), ElementType::vec(Scalar::i32, 2));
  for (const std::string_view name : {"", "f64", "vec3f", "vec3<f32>", "U32", "vec2<f16>"}) {
    const auto found = element_type_from_name(name);
    ASSERT_FALSE(found) << name;
    EXPECT_THAT(found.error().message,
                HasSubstr("There is no element type \"" + std::string(name) + "\"; there are u32"));
  }
}

TEST(ElementTypes, HaveTheSizesOfTheirArrays) {
  for (const ElementType& type : builtin_types()) {
    const std::uint32_t scalar_bytes = type.scalar == Scalar::f16 ? 2 : type.is_64_bit() ? 8 : 4;
    EXPECT_EQ(type.stride_bytes, scalar_bytes * type.components) << type.name;
    EXPECT_EQ(type.size_bytes, type.stride_bytes) << type.name;
    EXPECT_FALSE(type.is_struct());
  }
}

TEST(ElementTypes, OfStructsMustBeDeclaredAndStatedInWords) {
  const std::string text = "struct Pair { a: u32, b: f32 }";
  EXPECT_TRUE(ElementType::structure("Pair", text, 8, 8));
  EXPECT_TRUE(ElementType::structure("Pair", text, 8, 16));
  EXPECT_THAT(ElementType::structure("Pear", text, 8, 8).error().message, HasSubstr("\"Pear\" does not declare it"));
  EXPECT_THAT(ElementType::structure("Pai", text, 8, 8).error().message, HasSubstr("\"Pai\" does not declare it"));
  EXPECT_FALSE(ElementType::structure("", text, 8, 8));
  for (const auto& [size, stride] : {std::pair{0u, 8u}, {6u, 8u}, {8u, 10u}, {8u, 4u}}) {
    const auto type = ElementType::structure("Pair", text, size, stride);
    ASSERT_FALSE(type) << size << " " << stride;
    EXPECT_THAT(type.error().message, HasSubstr("must be multiples of 4"));
  }
}

TEST(Operators, AreFoundByTheNamesThatTheyHave) {
  for (const BinaryOperator& op : well_known_operators()) {
    const auto found = operator_from_name(to_string(op));
    ASSERT_TRUE(found) << to_string(op);
    EXPECT_EQ(*found, op);
  }
  EXPECT_EQ(to_string(BinaryOperator::bit_xor()), "xor");
  EXPECT_EQ(to_string(BinaryOperator::logical_any()), "any");
  EXPECT_EQ(to_string(BinaryOperator::custom("compose", "", "e")), "compose");
  for (const std::string_view name : {"", "mean", "SUM", "custom"}) {
    const auto found = operator_from_name(name);
    ASSERT_FALSE(found) << name;
    EXPECT_THAT(found.error().message,
                HasSubstr("there are sum, product, min, max, and, or, xor, argmin, argmax, any"));
  }
}

TEST(Transforms, KnowTheIdentity) {
  EXPECT_TRUE(Transform::identity().is_identity());
  EXPECT_TRUE(Transform{}.is_identity());
  for (const Transform& transform : {Transform::abs(), Transform::square(), Transform::clamp("0.0", "1.0"),
                                     Transform::flush_subnormals(), Transform::of("x", "fn f() {}")}) {
    EXPECT_FALSE(transform.is_identity()) << transform.expression;
  }
  EXPECT_EQ(Transform::clamp("0.0", "1.0").expression, "clamp(x, 0.0, 1.0)");
}

TEST(Lowering, IdentitiesOfIntegersAreTheExtremesOfTheirType) {
  EXPECT_EQ(identity_of(BinaryOperator::sum(), ElementType::u32()), "u32(0)");
  EXPECT_EQ(identity_of(BinaryOperator::product(), ElementType::i32()), "i32(1)");
  EXPECT_EQ(identity_of(BinaryOperator::min(), ElementType::u32()), "0xffffffffu");
  EXPECT_EQ(identity_of(BinaryOperator::max(), ElementType::u32()), "0u");
  EXPECT_EQ(identity_of(BinaryOperator::min(), ElementType::i32()), "2147483647i");
  EXPECT_EQ(identity_of(BinaryOperator::max(), ElementType::i32()), "i32(-2147483648)");
  EXPECT_EQ(identity_of(BinaryOperator::max(), ElementType::vec(Scalar::i32, 4)), "vec4<i32>(i32(-2147483648))");
  EXPECT_EQ(identity_of(BinaryOperator::bit_and(), ElementType::i32()), "i32(-1i)");
  EXPECT_EQ(identity_of(BinaryOperator::bit_or(), ElementType::u32()), "u32(0u)");
  EXPECT_EQ(identity_of(BinaryOperator::product(), ElementType::u64()), "vec2u(1u, 0u)");
  EXPECT_EQ(identity_of(BinaryOperator::min(), ElementType::i64()), "vec2u(0xffffffffu)");
  EXPECT_EQ(identity_of(BinaryOperator::logical_all(), ElementType::f32()), "1u");
  EXPECT_EQ(identity_of(BinaryOperator::argmin(), ElementType::f32()), "vec2u(0xffffffffu)");
}

TEST(Lowering, FloatExtremesAreComparedAsKeysAndMovedAsWords) {
  const auto lowered = lower_operator(BinaryOperator::min(), ElementType::vec(Scalar::f32, 2), nullptr);
  ASSERT_TRUE(lowered);
  EXPECT_EQ(lowered->accumulator, "vec2<u32>");
  EXPECT_EQ(lowered->import_expression, "vec2<u32>(min_key(bitcast<u32>(v.x)), min_key(bitcast<u32>(v.y)))");
  EXPECT_EQ(lowered->identity_expression, "vec2<u32>(0xffffffffu)");
  EXPECT_EQ(stored_type(ElementType::vec(Scalar::f32, 4)).raw, "vec4<u32>");
  EXPECT_EQ(stored_type(ElementType::f32()).load, "bitcast<f32>(raw)");
  EXPECT_EQ(stored_type(ElementType::f16()).value, "f32");
  EXPECT_EQ(stored_type(ElementType::i64()).raw, "vec2u");
}

TEST(Lowering, AccumulatorsHaveTheBytesOfTheirWgslType) {
  const auto bytes = [](const BinaryOperator& op, const ElementType& type) {
    return lower_operator(op, type, nullptr)->accumulator_bytes;
  };
  EXPECT_EQ(bytes(BinaryOperator::sum(), ElementType::f16()), 4u);
  EXPECT_EQ(bytes(BinaryOperator::sum(), ElementType::u64()), 8u);
  EXPECT_EQ(bytes(BinaryOperator::logical_any(), ElementType::u64()), 4u);
  EXPECT_EQ(bytes(BinaryOperator::argmin(), ElementType::u32()), 8u);
  EXPECT_EQ(bytes(BinaryOperator::argmin(), ElementType::u64()), 16u);
  EXPECT_EQ(bytes(BinaryOperator::max(), ElementType::vec(Scalar::f32, 4)), 16u);
  const ElementType pair = *ElementType::structure("Pair", "struct Pair { a: vec3f }", 12, 16);
  EXPECT_EQ(bytes(BinaryOperator::custom("f", "", "Pair()"), pair), 16u);
}

// Which operator takes which type, in full: the rest of the table must work.
TEST(Lowering, RefusesExactlyTheOperatorsWithoutMeaning) {
  for (const ElementType& type : builtin_types()) {
    for (const BinaryOperator& op : well_known_operators()) {
      const bool on_bits =
          op.kind == OperatorKind::bit_and || op.kind == OperatorKind::bit_or || op.kind == OperatorKind::bit_xor;
      const bool on_order = op.kind == OperatorKind::argmin || op.kind == OperatorKind::argmax;
      const bool on_truth = op.kind == OperatorKind::logical_any || op.kind == OperatorKind::logical_all;
      std::string expected = "accepted";
      if (on_bits && type.is_float()) expected = "it works on the bits of integers.";
      if (on_order && type.components > 1) expected = "vectors have no order.";
      if (on_truth && type.components > 1) expected = "vectors have no truth value.";
      if (expected != "accepted") {
        expected = "Operator " + to_string(op) + " is not defined for " + type.name + " items: " + expected;
      }
      EXPECT_EQ(error_of(op, type), expected);
    }
  }
}

TEST(Lowering, RefusesWellKnownOperatorsOfStructs) {
  const ElementType pair = *ElementType::structure("Pair", "struct Pair { a: u32, b: u32 }", 8, 8);
  for (const BinaryOperator& op : well_known_operators()) {
    EXPECT_THAT(error_of(op, pair), HasSubstr("structs need an operator given as WGSL text")) << to_string(op);
  }
  EXPECT_EQ(error_of(BinaryOperator::custom("f", "fn f(a: Pair, b: Pair) -> Pair { return a; }", "Pair()"), pair),
            "accepted");
}

TEST(Lowering, RefusesNamesOfFunctionsThatAreNone) {
  for (const char* name : {"m(a, b);//", "2m", "m n", "m;"}) {
    EXPECT_THAT(error_of(BinaryOperator::custom(name, "fn m(a: u32, b: u32) -> u32 { return a + b; }", "0u"),
                         ElementType::u32()),
                HasSubstr(std::string("\"") + name + "\" is no name of a WGSL function."));
  }
}

TEST(Lowering, RefusesCustomOperatorsWithoutNameOrIdentity) {
  EXPECT_THAT(error_of(BinaryOperator::custom("", "fn f() {}", "0u"), ElementType::u32()), HasSubstr("needs the name"));
  EXPECT_THAT(error_of(BinaryOperator::custom("f", "fn f() {}", ""), ElementType::u32()), HasSubstr("its identity"));
}

TEST(Lowering, OnlyHalvesMayGiveAWiderResult) {
  const ElementType f32 = ElementType::f32();
  const ElementType u32 = ElementType::u32();
  EXPECT_EQ(lower_operator(BinaryOperator::sum(), ElementType::f16(), &f32)->result, f32);
  EXPECT_EQ(lower_operator(BinaryOperator::sum(), ElementType::f16(), nullptr)->result, ElementType::f16());
  EXPECT_EQ(lower_operator(BinaryOperator::argmax(), ElementType::i64(), &u32)->result, u32);
  EXPECT_EQ(error_of(BinaryOperator::sum(), u32, &f32), "Operator sum of u32 items gives u32, not f32.");
  EXPECT_EQ(error_of(BinaryOperator::argmax(), f32, &f32), "Operator argmax of f32 items gives u32, not f32.");
}

TEST(Lowering, OnlyOperatorsThatSayThatTheyCommuteDo) {
  for (const BinaryOperator& op : well_known_operators()) {
    EXPECT_TRUE(lower_operator(op, ElementType::u32(), nullptr)->commutative) << to_string(op);
  }
  EXPECT_FALSE(lower_operator(BinaryOperator::custom("f", "", "0u"), ElementType::u32(), nullptr)->commutative);
  EXPECT_TRUE(lower_operator(BinaryOperator::custom("f", "", "0u", true), ElementType::u32(), nullptr)->commutative);
}

TEST(Lowering, DeclaresEveryRoleOnceForEveryOperatorAndType) {
  for (const ElementType& type : builtin_types()) {
    for (const BinaryOperator& op : well_known_operators()) {
      const auto lowered = lower_operator(op, type, nullptr);
      if (!lowered) continue;
      KernelBuilder builder("k");
      add_operator(builder, op, type, *lowered);
      const auto kernel = std::move(builder).build();
      ASSERT_TRUE(kernel) << kernel.error().message;
      for (const std::string_view role : {"fn import_value(", "fn combine(", "fn identity(", "fn result_value(",
                                          "alias Accumulator = ", "alias Value = ", "alias RawResult = "}) {
        const std::string& text = (*kernel)->text;
        const auto first = text.find(role);
        ASSERT_NE(first, std::string::npos) << role << to_string(op) << type.name;
        EXPECT_EQ(text.find(role, first + 1), std::string::npos) << role << to_string(op) << type.name;
      }
    }
  }
}

}  // namespace
}  // namespace upsweep
