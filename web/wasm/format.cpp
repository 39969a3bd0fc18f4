// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "format_text.h"

namespace upsweep::web {
namespace {

struct Specification {
  char align = 0;
  bool prefix = false;
  bool zeros = false;
  std::size_t width = 0;
  int precision = -1;
  bool hex = false;
};

std::size_t take_number(std::string_view& text) {
  std::size_t number = 0;
  while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    number = number * 10 + static_cast<std::size_t>(text[0] - '0');
    text.remove_prefix(1);
  }
  return number;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text[0] != c) return false;
  text.remove_prefix(1);
  return true;
}

Specification parse(std::string_view text) {
  Specification result;
  if (take(text, '<')) result.align = '<';
  if (take(text, '>')) result.align = '>';
  result.prefix = take(text, '#');
  result.zeros = take(text, '0');
  result.width = take_number(text);
  if (take(text, '.')) result.precision = static_cast<int>(take_number(text));
  result.hex = take(text, 'x');
  return result;
}

std::string digits_of(std::uint64_t value, unsigned base) {
  std::string digits;
  do {
    digits += "0123456789abcdef"[value % base];
    value /= base;
  } while (value != 0);
  std::ranges::reverse(digits);
  return digits;
}

std::string fixed(double value, int precision) {
  double scale = 1;
  for (int i = 0; i < precision; ++i) scale *= 10;
  std::string digits = digits_of(static_cast<std::uint64_t>(std::nearbyint(value * scale)), 10);
  const auto decimals = static_cast<std::size_t>(precision);
  if (digits.size() <= decimals) digits.insert(0, decimals + 1 - digits.size(), '0');
  if (precision != 0) digits.insert(digits.size() - decimals, ".");
  return digits;
}

std::string scientific(std::string digits, int exponent) {
  if (digits.size() > 1) digits.insert(1, ".");
  digits += exponent < 0 ? "e-" : "e+";
  const auto size = static_cast<std::uint64_t>(std::abs(exponent));
  return digits + (size < 10 ? "0" : "") + digits_of(size, 10);
}

// The fewest digits that give the number again, for up to 15 of them; more only as near as the arithmetic comes.
std::string shortest(double value, bool is_single) {
  int exponent = static_cast<int>(std::floor(std::log10(value)));
  for (int count = 1; count <= 17; ++count) {
    const int shift = count - 1 - exponent;
    const double scale = std::pow(10.0, std::abs(shift));
    const double digits = std::nearbyint(shift >= 0 ? value * scale : value / scale);
    const double read = shift >= 0 ? digits / scale : digits * scale;
    const bool is_same = is_single ? static_cast<float>(read) == static_cast<float>(value) : read == value;
    if (count < 17 && !is_same) continue;
    std::string text = digits_of(static_cast<std::uint64_t>(digits), 10);
    exponent = static_cast<int>(text.size()) - 1 - shift;
    const auto last = text.find_last_not_of('0');
    text.resize(last == std::string::npos ? 1 : last + 1);
    const auto size = static_cast<int>(text.size());
    std::string plain = text;
    if (exponent < 0) {
      plain = "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + text;
    } else if (size <= exponent + 1) {
      plain += std::string(static_cast<std::size_t>(exponent + 1 - size), '0');
    } else {
      plain.insert(static_cast<std::size_t>(exponent + 1), ".");
    }
    std::string other = scientific(std::move(text), exponent);
    return plain.size() <= other.size() ? plain : other;
  }
  return {};
}

std::string real_text(double value, bool is_single, const Specification& specification) {
  const std::string sign = std::signbit(value) ? "-" : "";
  if (std::isnan(value)) return sign + "nan";
  value = std::fabs(value);
  if (std::isinf(value)) return sign + "inf";
  if (specification.precision >= 0) return sign + fixed(value, specification.precision);
  return sign + (value == 0 ? "0" : shortest(value, is_single));
}

std::string text_of(const FormatArgument& argument, const Specification& specification) {
  using Kind = FormatArgument::Kind;
  switch (argument.kind) {
    case Kind::text: return std::string(argument.text);
    case Kind::character: return std::string(1, static_cast<char>(argument.natural));
    case Kind::boolean: return argument.natural != 0 ? "true" : "false";
    case Kind::real: return real_text(argument.real, argument.is_single, specification);
    default: break;
  }
  const bool negative = argument.kind == Kind::integer && argument.natural >> 63 != 0;
  std::string digits = digits_of(negative ? 0 - argument.natural : argument.natural, specification.hex ? 16 : 10);
  if (specification.zeros && digits.size() < specification.width) {
    digits.insert(0, specification.width - digits.size(), '0');
  }
  if (specification.prefix) digits.insert(0, "0x");
  return negative ? "-" + digits : digits;
}

void append(std::string& out, const FormatArgument& argument, const Specification& specification) {
  const std::string text = text_of(argument, specification);
  const std::string space(specification.width > text.size() ? specification.width - text.size() : 0, ' ');
  const bool is_number = argument.kind >= FormatArgument::Kind::natural;
  const bool right = specification.align == '>' || (specification.align == 0 && is_number);
  out += right ? space + text : text + space;
}

}  // namespace

std::string format_all(std::string_view text, std::span<const FormatArgument> arguments) {
  std::string out;
  std::size_t next = 0;
  while (!text.empty()) {
    const std::size_t brace = std::min(text.find_first_of("{}"), text.size());
    out += text.substr(0, brace);
    text.remove_prefix(brace);
    if (text.empty()) break;
    if (text.size() > 1 && text[1] == text[0]) {  // a doubled brace stands for itself
      out += text[0];
      text.remove_prefix(2);
      continue;
    }
    text.remove_prefix(1);
    const std::size_t end = std::min(text.find('}'), text.size());
    std::string_view field = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const bool has_index = !field.empty() && field[0] != ':';
    const std::size_t index = has_index ? take_number(field) : next++;
    const Specification specification = take(field, ':') ? parse(field) : Specification{};
    if (index < arguments.size()) append(out, arguments[index], specification);
  }
  return out;
}

}  // namespace upsweep::web
