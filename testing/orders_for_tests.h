// SPDX-License-Identifier: Apache-2.0
// Keys and orders for tests of what compares: structs whose orders are WGSL text, with their twins in C++, and numbers
// with all that is special about them.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "testing/generators.h"
#include "upsweep/order.h"

namespace upsweep::testing {

/// Comes `a` before `b` in the natural order? By value; NaN is the greatest.
template <typename Key>
bool is_less_by_value(const Key& a, const Key& b) {
  if constexpr (std::is_same_v<Key, Half>) {
    return is_less_by_value(number_of(a), number_of(b));
  } else if constexpr (std::is_floating_point_v<Key>) {
    if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
    // Without arithmetic that might take subnormals for zero.
    using Word = std::conditional_t<sizeof(Key) == 4, std::int32_t, std::int64_t>;
    const auto signed_magnitude = [](Key x) {
      const Word bits = std::bit_cast<Word>(x);
      constexpr Word magnitude = std::numeric_limits<Word>::max();
      return bits < 0 ? -(bits & magnitude) : bits;
    };
    return signed_magnitude(a) < signed_magnitude(b);
  } else {
    return a < b;
  }
}

/// 12 bytes, ordered by group, then by the greater weight. The tag is not looked at: it shows whether a sort is stable.
struct Parcel {
  std::uint32_t group;
  float weight;
  std::uint32_t tag;
  bool operator==(const Parcel&) const = default;

  static ElementType type() {
    return *ElementType::structure("Parcel", "struct Parcel {\n  group: u32,\n  weight: f32,\n  tag: u32,\n}", 12, 12);
  }
  static KeyOrder order() {
    return KeyOrder::less("parcel_less",
                          "fn parcel_less(a: Parcel, b: Parcel) -> bool {\n"
                          "  if (a.group != b.group) { return a.group < b.group; }\n"
                          "  return a.weight > b.weight;\n"
                          "}");
  }
  static bool less(const Parcel& a, const Parcel& b) {
    return a.group != b.group ? a.group < b.group : a.weight > b.weight;
  }
  static std::vector<Parcel> items(std::uint32_t count, std::uint64_t seed) {
    Random random(seed);
    std::vector<Parcel> made;
    for (std::uint32_t i = 0; i < count; ++i) {
      made.push_back({random.below(5), static_cast<float>(random.below(7)) - 3.0f, i});
    }
    return made;
  }
};

/// 16 bytes, ordered by one field alone.
struct Stop {
  std::uint32_t tag;
  std::int32_t hour;
  std::uint32_t line;
  std::uint32_t place;
  bool operator==(const Stop&) const = default;

  static ElementType type() {
    return *ElementType::structure("Stop", "struct Stop {\n  tag: u32,\n  hour: i32,\n  line: u32,\n  place: u32,\n}",
                                   16, 16);
  }
  static KeyOrder order() {
    return KeyOrder::less("earlier", "fn earlier(a: Stop, b: Stop) -> bool { return a.hour < b.hour; }");
  }
  static bool less(const Stop& a, const Stop& b) { return a.hour < b.hour; }
  static std::vector<Stop> items(std::uint32_t count, std::uint64_t seed) {
    Random random(seed);
    std::vector<Stop> made;
    for (std::uint32_t i = 0; i < count; ++i) {
      made.push_back({i, static_cast<std::int32_t>(random.below(9)) - 4, random.next32(), random.next32()});
    }
    return made;
  }
};

/// Every third word becomes one that is NaN of either sign, a zero, an infinity or subnormal when it is read as f32.
inline std::vector<std::uint32_t> with_special_words(std::vector<std::uint32_t> words) {
  constexpr std::uint32_t special[] = {0,          0x80000000, 1,          0x80000001, 0x7f800000, 0xff800000,
                                       0x7f800001, 0xffffffff, 0x7fffffff, 0xff800001, 0x007fffff, 0x3f800000};
  for (std::size_t i = 0; i < words.size(); i += 3) words[i] = special[i / 3 % std::size(special)];
  return words;
}
inline std::vector<std::uint32_t> special_words(std::uint32_t count, std::uint64_t seed) {
  return with_special_words(random_items<std::uint32_t>(count, seed));
}

/// The same of doubles.
inline std::vector<std::uint64_t> with_special_doubles(std::vector<std::uint64_t> words) {
  constexpr std::uint64_t special[] = {0,
                                       0x8000000000000000,
                                       1,
                                       0x8000000000000001,
                                       0x7ff0000000000000,
                                       0xfff0000000000000,
                                       0x7ff0000000000001,
                                       0xffffffffffffffff,
                                       0xfff0000000000001,
                                       0x3ff0000000000000,
                                       0xbff0000000000000,
                                       0x00000000ffffffff,
                                       0x8000000100000000,
                                       0x80000000ffffffff};
  for (std::size_t i = 0; i < words.size(); i += 3) words[i] = special[i / 3 % std::size(special)];
  return words;
}
inline std::vector<std::uint64_t> special_doubles(std::uint32_t count, std::uint64_t seed) {
  return with_special_doubles(random_items<std::uint64_t>(count, seed));
}

inline std::vector<Half> halves_of(const std::vector<std::uint32_t>& words) {
  std::vector<Half> halves;
  for (const std::uint32_t word : words) halves.push_back({static_cast<std::uint16_t>(word)});
  return halves;
}

}  // namespace upsweep::testing
