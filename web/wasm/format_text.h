// SPDX-License-Identifier: Apache-2.0
// Formatting of what the planners print: {}, {0}, and of the specifications #x, 0Nx, .Nf, <N and >N.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace upsweep::web {

struct FormatArgument {
  enum class Kind : std::uint8_t { text, character, boolean, natural, integer, real };
  Kind kind = Kind::text;
  std::string_view text;
  std::uint64_t natural = 0;
  double real = 0;
  bool is_single = false;  // a float: as few digits as tell it from other floats

  FormatArgument(std::string_view value) : text(value) {}                      // NOLINT(*-explicit-*)
  FormatArgument(const std::string& value) : text(value) {}                    // NOLINT(*-explicit-*)
  FormatArgument(const char* value) : text(value) {}                           // NOLINT(*-explicit-*)
  FormatArgument(bool value) : kind(Kind::boolean), natural(value ? 1 : 0) {}  // NOLINT(*-explicit-*)
  FormatArgument(char value)
      : kind(Kind::character), natural(static_cast<unsigned char>(value)) {}  // NOLINT(*-explicit-*)
  template <std::unsigned_integral T>
  FormatArgument(T value) : kind(Kind::natural), natural(value) {}  // NOLINT(*-explicit-*)
  template <std::signed_integral T>
  FormatArgument(T value)  // NOLINT(*-explicit-*)
      : kind(Kind::integer), natural(static_cast<std::uint64_t>(static_cast<std::int64_t>(value))) {}
  template <std::floating_point T>
  FormatArgument(T value) : kind(Kind::real), real(value), is_single(sizeof(T) == 4) {}  // NOLINT(*-explicit-*)
};

std::string format_all(std::string_view text, std::span<const FormatArgument> arguments);

template <std::size_t N>
struct FormatArguments {
  FormatArgument arguments[N];
};

}  // namespace upsweep::web
