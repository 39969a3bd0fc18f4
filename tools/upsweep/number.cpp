// SPDX-License-Identifier: Apache-2.0
#include "number.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <format>
#include <limits>

namespace upsweep::cli {
namespace {

using npy::Dtype;

template <typename T>
T load(std::span<const std::byte> items, std::size_t index) {
  T value;
  std::memcpy(&value, items.data() + index * sizeof(T), sizeof(T));
  return value;
}

double round_to_half(double x) {
  if (!std::isfinite(x) || x == 0) return x;
  const int exponent = std::max(std::ilogb(x), -14);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(x, 10 - exponent)), exponent - 10);
  constexpr double largest = 65504;
  return std::abs(rounded) > largest ? std::copysign(std::numeric_limits<double>::infinity(), x) : rounded;
}

double half_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int significand = bits & 1023;
  double magnitude = std::ldexp(significand, -24);
  if (exponent == 31) {
    magnitude = significand == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent != 0) {
    magnitude = std::ldexp(significand + 1024, exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

// Of a value that round_to_half() gave.
std::uint16_t half_bits(double half) {
  const unsigned sign = std::signbit(half) ? 0x8000u : 0u;
  const double magnitude = std::abs(half);
  if (std::isnan(half)) return static_cast<std::uint16_t>(sign | 0x7e00u);
  if (std::isinf(half)) return static_cast<std::uint16_t>(sign | 0x7c00u);
  const int exponent = magnitude == 0 ? -14 : std::max(std::ilogb(magnitude), -14);
  const auto significand = static_cast<unsigned>(std::ldexp(magnitude, 10 - exponent));  // below 2^11
  // A subnormal's significand is below 2^10, which leaves its exponent field 0.
  return static_cast<std::uint16_t>(sign | ((static_cast<unsigned>(exponent + 14) << 10) + significand));
}

// Least and greatest value of an integer type.
struct Bounds {
  std::int64_t least;
  std::uint64_t greatest;
};
Bounds bounds_of(Dtype dtype) {
  const std::size_t bits = npy::item_size(dtype) * 8;
  const std::uint64_t ones = ~std::uint64_t{0} >> (64 - bits);
  switch (dtype) {
    case Dtype::b1: return {0, 1};
    case Dtype::i1:
    case Dtype::i2:
    case Dtype::i4:
    case Dtype::i8: return {-static_cast<std::int64_t>(ones >> 1) - 1, ones >> 1};
    default: return {0, ones};
  }
}

bool is_float(Dtype dtype) { return dtype == Dtype::f2 || dtype == Dtype::f4 || dtype == Dtype::f8; }

double to_double(const Number& number) {
  return std::visit([](auto value) { return static_cast<double>(value); }, number);
}

// The fewest digits that give `value` back when read as `dtype`: "1.25e+02".
std::string shortest_scientific(double value, Dtype dtype) {
  std::array<char, 64> text{};
  const auto write = [&](auto... arguments) {
    return std::string(
        text.data(),
        std::to_chars(text.data(), text.data() + text.size(), arguments..., std::chars_format::scientific).ptr);
  };
  if (dtype == Dtype::f8) return write(value);
  if (dtype == Dtype::f4) return write(static_cast<float>(value));
  for (int precision = 0;; ++precision) {
    std::array<char, 64> digits{};
    char* end =
        std::to_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::scientific, precision)
            .ptr;
    double read = 0;
    std::from_chars(digits.data(), end, read);
    if (round_to_half(read) == value) return {digits.data(), end};
  }
}

std::string format_float(double value, Dtype dtype) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  if (value == 0) return std::signbit(value) ? "-0.0" : "0.0";
  std::string scientific = shortest_scientific(value, dtype);
  if (std::abs(value) >= 1e16 || std::abs(value) < 1e-4) return scientific;
  const auto mark = scientific.find('e');
  std::string digits;
  for (const char c : std::string_view(scientific).substr(0, mark)) {
    if (c >= '0' && c <= '9') digits += c;
  }
  const int exponent = std::atoi(scientific.c_str() + mark + 1);
  const std::string sign = value < 0 ? "-" : "";
  if (exponent < 0) return sign + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole) return sign + digits + std::string(whole - digits.size(), '0') + ".0";
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

}  // namespace

npy::Dtype dtype_of(Scalar scalar) {
  switch (scalar) {
    case Scalar::u32: return Dtype::u4;
    case Scalar::i32: return Dtype::i4;
    case Scalar::f32: return Dtype::f4;
    case Scalar::f16: return Dtype::f2;
    case Scalar::u64: return Dtype::u8;
    case Scalar::i64: return Dtype::i8;
  }
  return Dtype::u4;
}

Number number_at(std::span<const std::byte> items, Scalar type, std::size_t index) {
  switch (type) {
    case Scalar::u32: return std::uint64_t{load<std::uint32_t>(items, index)};
    case Scalar::i32: return std::int64_t{load<std::int32_t>(items, index)};
    case Scalar::u64: return load<std::uint64_t>(items, index);
    case Scalar::i64: return load<std::int64_t>(items, index);
    case Scalar::f32: return double{load<float>(items, index)};
    case Scalar::f16: return half_value(load<std::uint16_t>(items, index));
  }
  return std::numeric_limits<double>::quiet_NaN();
}

Number settle(const Number& number, Dtype dtype) {
  if (is_float(dtype)) {
    const double value = to_double(number);
    if (dtype == Dtype::f2) return round_to_half(value);
    return dtype == Dtype::f4 ? double{static_cast<float>(value)} : value;
  }
  const Bounds bounds = bounds_of(dtype);
  return std::visit(
      [&](auto value) -> Number {
        if constexpr (std::is_same_v<decltype(value), double>) {
          return static_cast<std::int64_t>(value);
        } else {
          const bool is_low = std::cmp_less(value, bounds.least);
          const bool is_high = std::cmp_greater(value, bounds.greatest);
          if (is_low) return bounds.least;
          if (is_high) return bounds.greatest;
          return value;
        }
      },
      number);
}

std::string format_number(const Number& settled, Dtype dtype) {
  if (is_float(dtype)) return format_float(to_double(settled), dtype);
  if (dtype == Dtype::b1) return to_double(settled) != 0 ? "True" : "False";
  return std::visit([](auto value) { return std::format("{}", value); }, settled);
}

void append_bytes(std::vector<std::byte>& bytes, const Number& settled, Dtype dtype) {
  // Integers of either sign have the same low bytes.
  std::uint64_t word = std::visit([](auto value) { return static_cast<std::uint64_t>(value); },
                                  is_float(dtype) ? Number{std::uint64_t{0}} : settled);
  if (dtype == Dtype::f2) word = half_bits(to_double(settled));
  if (dtype == Dtype::f4) word = std::bit_cast<std::uint32_t>(static_cast<float>(to_double(settled)));
  if (dtype == Dtype::f8) word = std::bit_cast<std::uint64_t>(to_double(settled));
  for (std::size_t i = 0; i < npy::item_size(dtype); ++i) {
    if constexpr (std::endian::native == std::endian::little) bytes.push_back(static_cast<std::byte>(word >> (8 * i)));
    if constexpr (std::endian::native == std::endian::big) {
      bytes.push_back(static_cast<std::byte>(word >> (8 * (npy::item_size(dtype) - 1 - i))));
    }
  }
}

std::optional<Number> parse_number(std::string_view text, Dtype dtype) {
  const bool is_true = text == "true" || text == "True";
  if (is_true || text == "false" || text == "False") {
    return is_float(dtype) ? Number{is_true ? 1.0 : 0.0} : Number{std::uint64_t{is_true}};
  }
  const auto parse = [&]<typename T>(T value) -> std::optional<Number> {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return Number{value};
  };
  if (is_float(dtype)) {
    const auto number = parse(double{});
    // Only what is called infinite may become so.
    if (number && std::isfinite(to_double(*number)) && !std::isfinite(to_double(settle(*number, dtype)))) {
      return std::nullopt;
    }
    return number;
  }
  const auto number = text.starts_with('-') ? parse(std::int64_t{}) : parse(std::uint64_t{});
  if (!number || settle(*number, dtype) != *number) return std::nullopt;
  return number;
}

bool comes_first(const Number& a, const Number& b, bool is_min) {
  if (const double* number = std::get_if<double>(&a)) {
    if (std::isnan(*number)) return !std::isnan(to_double(b));
  }
  if (is_min) return a < b;
  return b < a;
}

}  // namespace upsweep::cli
