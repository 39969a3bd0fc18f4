// SPDX-License-Identifier: Apache-2.0
// What a caller is told of his WGSL: compiler messages with his own names and lines, and the checks of types and
// operators.
#include <gmock/gmock.h>

#include <random>

#include "exec/plans_for_tests.h"
#include "upsweep/reduce.h"

namespace upsweep::testing {
namespace {

using ::testing::HasSubstr;

class Checks : public GpuTest {
 protected:
  // Records a reduction, which is not submitted.
  Status record(const ReduceShape& shape) {
    const BufferHandle input = make_buffer(context(), 4096);
    const BufferHandle output = make_buffer(context(), 64);
    const EncoderHandle encoder(wgpuDeviceCreateCommandEncoder(context().device(), nullptr));
    return record_reduce(context(), encoder.get(), shape, {.input = input.get(), .output = output.get()},
                         reduce_tuning());
  }
  std::string error_of(const ReduceShape& shape) { return message_of(record(shape)); }
  static ReduceShape folded_by(const BinaryOperator& op) {
    return {.item_count = Count::on_host(100), .input = ElementType::u32(), .combine = op};
  }
  static std::vector<std::uint32_t> random_words(std::size_t count) {
    std::mt19937 random(11);
    std::vector<std::uint32_t> words(count);
    for (std::uint32_t& word : words) word = static_cast<std::uint32_t>(random());
    return words;
  }
};
INSTANTIATE_TEST_SUITE_P(, Checks, all_profiles, profile_name);

// ---- compiler messages ----

TEST_P(Checks, ASyntaxErrorIsFoundInTheLineOfTheOperator) {
  const auto op =
      BinaryOperator::custom("pick", "fn pick(a: u32, b: u32) -> u32 {\n  let c = a +;\n  return b;\n}\n", "0u");
  EXPECT_THAT(error_of(folded_by(op)), HasSubstr("operator \"pick\":2: "));
}

TEST_P(Checks, ATypeErrorIsFoundInTheLineOfTheOperator) {
  const auto op = BinaryOperator::custom("pick", "fn pick(a: u32, b: u32) -> u32 {\n\n  return 1.5f;\n}\n", "0u");
  EXPECT_THAT(error_of(folded_by(op)), HasSubstr("operator \"pick\":3: "));
}

TEST_P(Checks, AnOperatorWithoutTheFunctionOrWithOtherTypesIsFoundWhereItIsCalled) {
  const auto misnamed = BinaryOperator::custom("pick", "fn pik(a: u32, b: u32) -> u32 { return a; }\n", "0u");
  EXPECT_THAT(error_of(folded_by(misnamed)), HasSubstr("call of operator \"pick\":1: "));
  const auto of_floats = BinaryOperator::custom("pick", "fn pick(a: f32, b: f32) -> f32 { return a; }\n", "0u");
  EXPECT_THAT(error_of(folded_by(of_floats)), HasSubstr("call of operator \"pick\":1: "));
}

TEST_P(Checks, AnOperatorThatTakesANameOfTheLibraryIsToldWhich) {
  const auto op = BinaryOperator::custom(
      "pick", "fn tile_index(a: u32) -> u32 { return a; }\nfn pick(a: u32, b: u32) -> u32 { return tile_index(a); }\n",
      "0u");
  const Status status = record(folded_by(op));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::invalid_request);
  EXPECT_THAT(status.error().message, HasSubstr("\"tile_index\" is declared twice"));
  EXPECT_THAT(status.error().message, HasSubstr("declares a name that the library uses"));
}

TEST_P(Checks, AnErrorInTheTransformIsNamedAsThat) {
  ReduceShape shape = folded_by(BinaryOperator::sum());
  shape.transform = Transform::of("x + nonsense");
  const std::string message = error_of(shape);
  EXPECT_THAT(message, HasSubstr("transform expression:1: "));
  EXPECT_THAT(message, HasSubstr("nonsense"));
}

TEST_P(Checks, AnErrorInTheIdentityIsNamedAsThat) {
  const auto op = BinaryOperator::custom("pick", "fn pick(a: u32, b: u32) -> u32 { return a; }\n", "nothing");
  EXPECT_THAT(error_of(folded_by(op)), HasSubstr("identity of operator \"pick\":1: "));
}

TEST_P(Checks, ATextThatWasRefusedIsRefusedAgain) {
  const auto op = BinaryOperator::custom("pick", "fn pick(a: u32, b: u32) -> u32 { return; }\n", "0u");
  const std::string first = error_of(folded_by(op));
  EXPECT_THAT(first, HasSubstr("operator \"pick\":1: "));
  EXPECT_EQ(error_of(folded_by(op)), first);
}

// ---- types ----

TEST_P(Checks, ElementTypesStatedRightlyPass) {
  for (const std::string_view name : {"u32", "i32", "f32", "u64", "i64", "vec2f", "vec4u", "vec4i"}) {
    EXPECT_EQ(message_of(context().check_element(*element_type_from_name(name))), "ok") << name;
  }
  if (context().traits().f16) {
    EXPECT_EQ(message_of(context().check_element(ElementType::f16())), "ok");
  }
  EXPECT_EQ(
      message_of(context().check_element(*ElementType::structure("Pair", "struct Pair { a: vec3f, b: u32 }", 16, 16))),
      "ok");
  EXPECT_EQ(message_of(context().check_element(
                *ElementType::structure("Three", "struct Three { a: u32, b: f32, c: i32 }", 12, 12))),
            "ok");
}

TEST_P(Checks, AStrideThatTheDeviceDoesNotShareIsFound) {
  const std::string padded = "struct Padded { a: vec3f, b: vec3f }";  // 32 bytes on the device
  EXPECT_EQ(message_of(context().check_element(*ElementType::structure("Padded", padded, 28, 32))), "ok");
  for (const std::uint32_t stride : {24u, 28u, 36u, 64u}) {
    const std::string message =
        message_of(context().check_element(*ElementType::structure("Padded", padded, 24, stride)));
    EXPECT_THAT(message, HasSubstr("Element type Padded is stated with a stride of " + std::to_string(stride)));
  }
  // A large struct: one word more or less is found, too.
  const std::string large = "struct Large { a: array<u32, 1000> }";
  EXPECT_EQ(message_of(context().check_element(*ElementType::structure("Large", large, 4000, 4000))), "ok");
  EXPECT_FALSE(context().check_element(*ElementType::structure("Large", large, 3996, 3996)));
  EXPECT_FALSE(context().check_element(*ElementType::structure("Large", large, 4000, 4004)));
}

TEST_P(Checks, AnErrorInATypesTextIsFoundInItsLine) {
  const auto type = *ElementType::structure("Pair", "struct Pair {\n  a: u23,\n}", 4, 4);
  EXPECT_THAT(message_of(context().check_element(type)), HasSubstr("type \"Pair\":2: "));
}

// ---- operators ----

const std::string affine_text =
    "fn compose(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return vec2u(a.x * b.x, a.y * b.x + b.y); }";

TEST_P(Checks, AssociativeOperatorsPass) {
  const auto words = random_words(384);
  const auto samples = bytes_of(words);
  for (const std::string_view name :
       {"sum", "product", "min", "max", "and", "or", "xor", "argmin", "argmax", "any", "all"}) {
    EXPECT_EQ(message_of(context().check_operator(*operator_from_name(name), ElementType::u32(), samples)), "ok")
        << name;
    if (name != "any" && name != "all") continue;
    EXPECT_EQ(message_of(context().check_operator(*operator_from_name(name), ElementType::u64(), samples)), "ok")
        << name;
  }
  for (const std::string_view name : {"sum", "product", "min", "max"}) {
    for (const std::string_view type : {"i32", "u64", "i64", "vec2u", "vec4i"}) {
      EXPECT_EQ(message_of(context().check_operator(*operator_from_name(name), *element_type_from_name(type), samples)),
                "ok")
          << name << " of " << type;
    }
  }
  // Affine maps do not commute.
  EXPECT_EQ(message_of(context().check_operator(BinaryOperator::custom("compose", affine_text, "vec2u(1u, 0u)"),
                                                ElementType::vec(Scalar::u32, 2), samples)),
            "ok");
}

TEST_P(Checks, FloatSumsPassWithinTheTolerance) {
  std::vector<float> items;
  for (const std::uint32_t word : random_words(192)) items.push_back(static_cast<float>(word % 100000) * 0.37f);
  EXPECT_EQ(message_of(context().check_operator(BinaryOperator::sum(), ElementType::f32(), bytes_of(items))), "ok");
  // The same without a tolerance: rounding shows, so the comparison does compare.
  EXPECT_FALSE(context().check_operator(BinaryOperator::sum(), ElementType::f32(), bytes_of(items), 0.0));
}

TEST_P(Checks, SubtractionIsNotAssociative) {
  const auto words = random_words(30);
  const auto op = BinaryOperator::custom("minus", "fn minus(a: u32, b: u32) -> u32 { return a - b; }", "0u");
  const Status status = context().check_operator(op, ElementType::u32(), bytes_of(words));
  EXPECT_EQ(message_of(status), "Operator minus is not associative: (a b) c differs from a (b c) for samples 0 to 2.");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::invalid_request);
}

TEST_P(Checks, AWrongIdentityIsFoundOnEitherSide) {
  const auto words = random_words(30);
  const auto check = [&](const std::string& text, const std::string& identity) {
    return message_of(
        context().check_operator(BinaryOperator::custom("f", text, identity), ElementType::u32(), bytes_of(words)));
  };
  EXPECT_EQ(check("fn f(a: u32, b: u32) -> u32 { return a + b; }", "1u"), "Operator f: its identity changes sample 0.");
  // The left one of two: every value is an identity on the right, none on the left.
  EXPECT_EQ(check("fn f(a: u32, b: u32) -> u32 { return a; }", "0u"), "Operator f: its identity changes sample 0.");
  EXPECT_EQ(check("fn f(a: u32, b: u32) -> u32 { return b; }", "0u"), "Operator f: its identity changes sample 0.");
}

TEST_P(Checks, OperatorsThatAreStatedToCommuteDo) {
  const auto words = random_words(30);
  const auto check = [&](bool commutative) {
    // The first of two that are not 0.
    return message_of(context().check_operator(
        BinaryOperator::custom("first", "fn first(a: u32, b: u32) -> u32 { return select(a, b, a == 0u); }", "0u",
                               commutative),
        ElementType::u32(), bytes_of(words)));
  };
  EXPECT_EQ(check(false), "ok");
  EXPECT_EQ(check(true), "Operator first is stated to commute, but a b differs from b a for samples 0 and 1.");
}

TEST_P(Checks, OperatorsOfStructsAreComparedInTheirFields) {
  const auto type = *ElementType::structure("MinMax", "struct MinMax { low: f32, high: f32, count: vec3u }", 28, 32);
  const auto op =
      BinaryOperator::custom("merge",
                             "fn merge(a: MinMax, b: MinMax) -> MinMax {\n"
                             "  return MinMax(min(a.low, b.low), max(a.high, b.high), a.count + b.count);\n}\n",
                             "MinMax(3.0e38, -3.0e38, vec3u(0u))");
  std::vector<std::uint32_t> words;
  for (std::uint32_t i = 0; i < 12; ++i) {
    const float low = static_cast<float>(i % 5);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &low, 4);
    for (const std::uint32_t word : {bits, bits, 0u, 0u, i, 2 * i, 3 * i, 77u}) words.push_back(word);
  }
  EXPECT_EQ(message_of(context().check_operator(op, type, bytes_of(words))), "ok");
  BinaryOperator wrong = op;
  wrong.identity = "MinMax(3.0e38, -3.0e38, vec3u(0u, 0u, 1u))";
  EXPECT_EQ(message_of(context().check_operator(wrong, type, bytes_of(words))),
            "Operator merge: its identity changes sample 0.");
}

TEST_P(Checks, AnOperatorNeedsThreeSamples) {
  const auto words = random_words(2);
  EXPECT_THAT(message_of(context().check_operator(BinaryOperator::sum(), ElementType::u32(), bytes_of(words))),
              HasSubstr("at least three"));
}

}  // namespace
}  // namespace upsweep::testing
