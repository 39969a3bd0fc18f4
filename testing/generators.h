// SPDX-License-Identifier: Apache-2.0
// Items for tests: C++ twins of the element types, and reproducible random values of them.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "upsweep/element.h"

namespace upsweep::testing {

/// An f16 as it is stored.
struct Half {
  std::uint16_t bits = 0;
  bool operator==(const Half&) const = default;
};

inline double number_of(Half half) {
  const double sign = (half.bits & 0x8000) != 0 ? -1.0 : 1.0;
  const int exponent = half.bits >> 10 & 31;
  const int mantissa = half.bits & 0x3ff;
  if (exponent == 31) return mantissa == 0 ? sign * HUGE_VAL : std::numeric_limits<double>::quiet_NaN();
  return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
}

/// The nearest f16, ties to even (the host's rounding mode).
inline Half half_of(double number) {
  const std::uint32_t sign = std::signbit(number) ? 0x8000u : 0u;
  const double magnitude = std::fabs(number);
  if (std::isnan(number)) return {static_cast<std::uint16_t>(sign | 0x7e00u)};
  if (magnitude >= 65520.0) return {static_cast<std::uint16_t>(sign | 0x7c00u)};
  const int exponent = magnitude == 0.0 ? -14 : std::max(std::ilogb(magnitude), -14);
  // 1024 to 2048 units for normal numbers: the leading one, and a carry, land in the exponent's field.
  const auto units = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  return {static_cast<std::uint16_t>(sign | ((static_cast<std::uint32_t>(exponent + 14) << 10) + units))};
}

template <typename T, std::size_t N>
using Vec = std::array<T, N>;

template <typename T>
inline constexpr bool is_vec = false;
template <typename T, std::size_t N>
inline constexpr bool is_vec<std::array<T, N>> = true;

template <typename T>
ElementType element_type() {
  if constexpr (std::same_as<T, std::uint32_t>) return ElementType::u32();
  if constexpr (std::same_as<T, std::int32_t>) return ElementType::i32();
  if constexpr (std::same_as<T, float>) return ElementType::f32();
  if constexpr (std::same_as<T, Half>) return ElementType::f16();
  if constexpr (std::same_as<T, std::uint64_t>) return ElementType::u64();
  if constexpr (std::same_as<T, std::int64_t>) return ElementType::i64();
  if constexpr (is_vec<T>) {
    const ElementType component = element_type<typename T::value_type>();
    return ElementType::vec(*component.scalar, static_cast<std::uint32_t>(std::tuple_size_v<T>));
  }
}

/// splitmix64: the same numbers on every host and compiler.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t word = state_;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
    return word ^ (word >> 31);
  }
  std::uint32_t next32() { return static_cast<std::uint32_t>(next() >> 32); }
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>((next() >> 32) * bound >> 32); }
  /// Any float but NaN: all exponents, both signs, subnormals, infinities.
  float any_number() {
    for (;;) {
      const float number = std::bit_cast<float>(next32());
      if (!std::isnan(number)) return number;
    }
  }
  /// [-1, 1) in steps of 2^-23.
  float between_minus_one_and_one() {
    return std::ldexp(static_cast<float>(static_cast<std::int32_t>(next32() >> 8) - (1 << 23)), -23);
  }

 private:
  std::uint64_t state_;
};

/// The seed of a test: fixed, so that a failure repeats; UPSWEEP_TEST_SEED gives others.
inline std::uint64_t test_seed() {
  const char* text = std::getenv("UPSWEEP_TEST_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 0) : 20240229;
}

/// For SCOPED_TRACE.
inline std::string seed_note(std::uint64_t seed) { return "UPSWEEP_TEST_SEED=" + std::to_string(seed); }

enum class Values : std::uint8_t {
  any,     ///< Full-range integers; floats of every exponent but no NaN.
  small,   ///< Integers from -3 to 3 (unsigned: 0 to 6), as floats too: sums of millions of them are exact.
  signs,   ///< Floats: +1 and -1 with a few 2 and 0.5: products in any order are exact. Integers: full range, odd.
  sparse,  ///< Mostly zero, seldom one.
  dense,   ///< Mostly one, seldom zero.
  unit,    ///< Floats from [-1, 1).
};

template <typename T>
T random_item(Random& random, Values values) {
  if constexpr (is_vec<T>) {
    T item;
    for (auto& component : item) component = random_item<typename T::value_type>(random, values);
    return item;
  } else if constexpr (std::integral<T>) {
    switch (values) {
      case Values::small: return static_cast<T>(static_cast<T>(random.below(7)) - (std::is_signed_v<T> ? 3 : 0));
      case Values::sparse: return static_cast<T>(random.below(5000) == 0);
      case Values::dense: return static_cast<T>(random.below(5000) != 0);
      case Values::signs: return static_cast<T>(random.next() | 1);
      case Values::any:
      case Values::unit: break;
    }
    return static_cast<T>(random.next());
  } else if constexpr (std::same_as<T, Half>) {
    if (values == Values::any) {
      const Half item{static_cast<std::uint16_t>(random.next())};
      return (item.bits & 0x7fff) > 0x7c00 ? Half{0x3c00} : item;
    }
    return half_of(random_item<float>(random, values));
  } else {
    static_assert(std::same_as<T, float>);
    switch (values) {
      case Values::small: return static_cast<float>(random.below(7)) - 3.0f;
      case Values::sparse: return random.below(5000) == 0 ? 1.0f : 0.0f;
      case Values::dense: return random.below(5000) == 0 ? 0.0f : 1.0f;
      case Values::signs: {
        const std::uint32_t draw = random.below(1u << 20);
        const float magnitude = draw < 4 ? 2.0f : draw < 8 ? 0.5f : 1.0f;
        return (draw & 1) != 0 ? -magnitude : magnitude;
      }
      case Values::unit: return random.between_minus_one_and_one();
      case Values::any: break;
    }
    return random.any_number();
  }
}

template <typename T>
std::vector<T> random_items(std::size_t count, std::uint64_t seed, Values values = Values::any) {
  Random random(seed);
  std::vector<T> items(count);
  for (T& item : items) item = random_item<T>(random, values);
  return items;
}

}  // namespace upsweep::testing
