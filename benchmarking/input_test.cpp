// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/input.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

namespace upsweep::bench {
namespace {

RunningReference reference(const BinaryOperator& op, const ElementType& type) {
  const auto made = RunningReference::create(op, type);
  EXPECT_TRUE(made.has_value());
  return *made;
}

// Computed by another program from the formula, so that a change of the generator does not pass unseen.
TEST(BenchInput, IsTheSameAsThePeers) {
  EXPECT_EQ(input_hash(0, 0), 0u);
  EXPECT_EQ(input_hash(0), 0x606d18a8u);
  EXPECT_EQ(input_hash(1), 0x457f061bu);
  EXPECT_EQ(input_hash(123456789), 0x25ab8663u);
}

TEST(BenchInput, OfU64IsTheWordsTwoByTwo) {
  EXPECT_EQ(input_u64(0), 0x457f061b606d18a8u);
  EXPECT_EQ(static_cast<std::uint32_t>(input_u64(7)), input_hash(14));
}

TEST(BenchInput, OfFloatsLiesInTheUnitInterval) {
  for (std::uint32_t i = 0; i < 10000; ++i) {
    EXPECT_GE(input_float(i), 0.0f);
    EXPECT_LT(input_float(i), 1.0f);
  }
  EXPECT_EQ(std::bit_cast<float>(input_bits(7, Scalar::f32)), input_float(7));
}

TEST(RunningReference, SumsModuloTwoToThe32AndRefusesTheNextNumber) {
  RunningReference sum = reference(BinaryOperator::sum(), ElementType::u32());
  sum.advance(3);
  const std::uint32_t expected = input_hash(0) + input_hash(1) + input_hash(2);
  EXPECT_TRUE(sum.check(expected).correct);
  EXPECT_FALSE(sum.check(expected + 1).correct);
}

TEST(RunningReference, GoesOnAndStartsAgain) {
  RunningReference sum = reference(BinaryOperator::sum(), ElementType::u32());
  sum.advance(2);
  sum.advance(3);
  EXPECT_TRUE(sum.check(input_hash(0) + input_hash(1) + input_hash(2)).correct);
  sum.advance(1);
  EXPECT_TRUE(sum.check(input_hash(0)).correct);
}

TEST(RunningReference, AllowsFloatSumsASmallErrorOnly) {
  RunningReference sum = reference(BinaryOperator::sum(), ElementType::f32());
  sum.advance(1000);
  double exact = 0;
  for (std::uint32_t i = 0; i < 1000; ++i) exact += input_float(i);
  EXPECT_TRUE(sum.check(std::bit_cast<std::uint32_t>(static_cast<float>(exact * (1 + 5e-6)))).correct);
  EXPECT_FALSE(sum.check(std::bit_cast<std::uint32_t>(static_cast<float>(exact * (1 + 2e-5)))).correct);
  EXPECT_FALSE(sum.check(0x7fc00000u).correct);
}

TEST(RunningReference, ComparesSignedAndUnsignedItemsApart) {
  RunningReference as_unsigned = reference(BinaryOperator::min(), ElementType::u32());
  RunningReference as_signed = reference(BinaryOperator::min(), ElementType::i32());
  std::uint32_t least = input_hash(0);
  std::int32_t signed_least = std::bit_cast<std::int32_t>(input_hash(0));
  for (std::uint32_t i = 1; i < 100; ++i) {
    least = std::min(least, input_hash(i));
    signed_least = std::min(signed_least, std::bit_cast<std::int32_t>(input_hash(i)));
  }
  as_unsigned.advance(100);
  as_signed.advance(100);
  EXPECT_TRUE(as_unsigned.check(least).correct);
  EXPECT_TRUE(as_signed.check(std::bit_cast<std::uint32_t>(signed_least)).correct);
  EXPECT_NE(least, std::bit_cast<std::uint32_t>(signed_least));
}

TEST(RunningReference, GivesTheIndexOfTheGreatestItem) {
  RunningReference greatest = reference(BinaryOperator::argmax(), ElementType::f32());
  greatest.advance(100);
  std::uint32_t index = 0;
  for (std::uint32_t i = 1; i < 100; ++i) {
    if (input_float(i) > input_float(index)) index = i;
  }
  EXPECT_TRUE(greatest.check(index).correct);
  EXPECT_FALSE(greatest.check(index + 1).correct);
}

TEST(RunningReference, RefusesWhatItCannotCheck) {
  EXPECT_FALSE(RunningReference::create(BinaryOperator::product(), ElementType::f32()).has_value());
  EXPECT_FALSE(RunningReference::create(BinaryOperator::bit_xor(), ElementType::f32()).has_value());
  EXPECT_FALSE(RunningReference::create(BinaryOperator::sum(), ElementType::u64()).has_value());
  EXPECT_FALSE(RunningReference::create(BinaryOperator::sum(), ElementType::vec(Scalar::f32, 4)).has_value());
}

}  // namespace
}  // namespace upsweep::bench
