// SPDX-License-Identifier: Apache-2.0
#include "fuzz_keys.h"

#include <algorithm>
#include <array>
#include <utility>

namespace upsweep::fuzz {
namespace {

struct Format {
  std::string_view name;
  std::uint32_t bytes;
  std::uint32_t mantissa_bits;  // 0: an integer
};

constexpr std::array formats{Format{"u32", 4, 0}, Format{"i32", 4, 0}, Format{"f32", 4, 23}, Format{"f16", 2, 10},
                             Format{"u64", 8, 0}, Format{"i64", 8, 0}, Format{"f64", 8, 52}};

const Format& format_of(KeyKind kind) { return formats[static_cast<std::size_t>(kind)]; }

std::uint64_t low_bits(std::uint32_t count) { return count >= 64 ? ~0ull : (1ull << count) - 1; }

// Numbers at the ends and joints of a kind.
std::vector<std::uint64_t> specials(KeyKind kind) {
  const Format& format = format_of(kind);
  const std::uint32_t width = format.bytes * 8;
  const std::uint64_t sign = 1ull << (width - 1);
  if (format.mantissa_bits == 0) return {0, 1, low_bits(width), low_bits(width) - 1, sign, sign - 1, sign + 1};
  const std::uint64_t fraction = low_bits(format.mantissa_bits);
  const std::uint64_t infinity = (sign - 1) & ~fraction;
  std::vector<std::uint64_t> all{0,
                                 1,
                                 fraction,
                                 fraction + 1,
                                 infinity - 1,
                                 infinity,
                                 infinity + 1,
                                 sign - 1,
                                 infinity / 2,
                                 1ull << (width / 2),
                                 low_bits(width / 2)};
  const std::size_t positive = all.size();
  for (std::size_t i = 0; i < positive; ++i) all.push_back(all[i] | sign);
  return all;
}

// What bits [begin, end) of a key are counted from: an unsigned number that is ordered as the keys are.
std::uint64_t ordered_number(KeyKind kind, std::uint64_t bits) {
  const Format& format = format_of(kind);
  const std::uint32_t width = format.bytes * 8;
  const std::uint64_t sign = 1ull << (width - 1);
  if (kind == KeyKind::u32 || kind == KeyKind::u64) return bits;
  if (format.mantissa_bits == 0) return (bits + sign) & low_bits(width);
  const std::uint64_t magnitude = bits & (sign - 1);
  const std::uint64_t infinity = (sign - 1) & ~low_bits(format.mantissa_bits);
  if (magnitude > infinity) return low_bits(width);
  return (bits & sign) != 0 ? sign - magnitude : sign + magnitude;
}

std::uint64_t reversed(std::uint64_t number, std::uint32_t width) {
  std::uint64_t result = 0;
  for (std::uint32_t i = 0; i < width; ++i) result |= (number >> i & 1) << (width - 1 - i);
  return result;
}

}  // namespace

std::string_view name_of(KeyKind kind) { return format_of(kind).name; }
std::uint32_t bytes_of(KeyKind kind) { return format_of(kind).bytes; }

ElementType type_of(KeyKind kind) {
  return kind == KeyKind::f64 ? ElementType::u64() : *element_type_from_name(name_of(kind));
}

Bytes bytes_of(const Keys& keys) {
  const std::size_t width = bytes_of(keys.kind);
  Bytes bytes(keys.bits.size() * width);
  for (std::size_t i = 0; i < keys.bits.size(); ++i) {
    for (std::size_t b = 0; b < width; ++b) bytes[i * width + b] = static_cast<std::byte>(keys.bits[i] >> (8 * b));
  }
  return bytes;
}

Keys draw_keys(Random& random, KeyKind kind, std::uint32_t count, std::string& text) {
  const std::uint32_t width = bytes_of(kind) * 8;
  const std::uint64_t mask = low_bits(width);
  const std::uint64_t sign = 1ull << (width - 1);
  const auto special = specials(kind);
  Keys keys{kind, std::vector<std::uint64_t>(count)};
  const auto fill = [&](std::string_view name, auto bits_of) {
    text += name;
    for (std::uint32_t i = 0; i < count; ++i) keys.bits[i] = bits_of(i) & mask;
  };
  const std::uint32_t distribution = random.below(11);
  switch (distribution) {
    case 0: {
      const std::uint64_t bits = one_in(random, 2) ? pick(random, special) : random.next();
      fill(" equal", [&](std::uint32_t) { return bits; });
      break;
    }
    case 1: {
      std::vector<std::uint64_t> few(1 + random.below(20));
      for (auto& bits : few) bits = one_in(random, 2) ? pick(random, special) : random.next();
      fill(" few distinct", [&](std::uint32_t) { return pick(random, few); });
      break;
    }
    case 2: fill(" one bit", [&](std::uint32_t) { return 1ull << random.below(width); }); break;
    case 3: fill(" special", [&](std::uint32_t) { return pick(random, special); }); break;
    case 4: {  // subnormal floats, small integers
      const std::uint32_t bits = std::max(4u, format_of(kind).mantissa_bits);
      fill(" small", [&](std::uint32_t) { return (random.next() & low_bits(bits)) | (random.next() & sign); });
      break;
    }
    case 5: fill(" bit-reversed", [&](std::uint32_t i) { return reversed(i, width); }); break;
    case 6: fill(" in every byte", [&](std::uint32_t i) { return i * 0x0101010101010101ull; }); break;
    case 7: {
      const std::uint32_t shift = random.below(width);
      fill(" of one digit", [&](std::uint32_t) { return (random.next() % 251) << shift; });
      break;
    }
    default: fill(" random", [&](std::uint32_t) { return random.next(); }); break;
  }
  if (distribution == 8 || distribution == 9) {
    text += distribution == 8 ? ", ascending" : ", descending";
    std::ranges::stable_sort(keys.bits, {}, [&](std::uint64_t bits) { return ordered_number(kind, bits); });
    if (distribution == 9) std::ranges::reverse(keys.bits);
  } else if (one_in(random, 4)) {
    for (auto& bits : keys.bits) {
      if (one_in(random, 10)) bits = pick(random, special);
    }
  }
  return keys;
}

std::vector<std::uint32_t> order_of(const Keys& keys, bool descending, std::uint32_t begin_bit, std::uint32_t end_bit) {
  SortShape order{.descending = descending, .begin_bit = begin_bit, .end_bit = end_bit};
  // By value where all bits count: another way than by ordered bits.
  if (begin_bit == 0 && end_bit == 0) {
    return with_numbers(keys, [&](const auto& numbers) { return testing::sorted_indices(numbers, order); });
  }
  std::vector<std::uint64_t> numbers;
  for (const std::uint64_t bits : keys.bits) numbers.push_back(ordered_number(keys.kind, bits));
  return testing::sorted_indices(numbers, order);
}

}  // namespace upsweep::fuzz
