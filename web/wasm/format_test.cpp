// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cstdint>
#include <format>
#include <limits>
#include <string>
#include <vector>

#include "format_text.h"

namespace upsweep::web {
namespace {

template <typename T>
std::string ours(std::string_view text, const T& value) {
  const FormatArgument argument(value);
  return format_all(text, {&argument, 1});
}

TEST(Format, NumbersLookAsTheStandardLibraryPrintsThem) {
  for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{7}, std::uint64_t{4096}, ~std::uint64_t{0}}) {
    EXPECT_EQ(ours("{}", number), std::format("{}", number));
    EXPECT_EQ(ours("<{:016x}>", number), std::format("<{:016x}>", number));
    EXPECT_EQ(ours("{:#x}", number), std::format("{:#x}", number));
    EXPECT_EQ(ours("{:<7}|", number), std::format("{:<7}|", number));
    EXPECT_EQ(ours("{:7}|", number), std::format("{:7}|", number));
  }
  for (const std::int64_t number : {std::numeric_limits<std::int64_t>::min(), std::int64_t{-1}, std::int64_t{12}}) {
    EXPECT_EQ(ours("{}", number), std::format("{}", number));
  }
}

TEST(Format, DoublesAreAsShortAsTheyCanBe) {
  const std::vector<double> numbers = {0.0,     -0.0, 1.0,     -1.5,   0.1, 1e5,     1e16, 123456.0,  1e-4,
                                       1.25e-7, 5e-5, 1.0 / 3, 2.5e20, 0.3, 99999.5, 1e22, 16777216.0};
  for (const double number : numbers) {
    EXPECT_EQ(ours("{}", number), std::format("{}", number)) << number;
  }
  for (const float number : {0.85f, 1e-6f, 0.1f, 1.0f / 3, -2.5f, 16777216.0f, 3.4028235e38f, 1e-38f, 1e20f}) {
    EXPECT_EQ(ours("{}", number), std::format("{}", number)) << number;
  }
  for (const double number : {0.0, 1.25, 99.994, 0.06}) {
    EXPECT_EQ(ours("{:.2f}", number), std::format("{:.2f}", number));
    EXPECT_EQ(ours("{:.1f}", number), std::format("{:.1f}", number));
  }
  EXPECT_EQ(ours("{}", std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(ours("{}", -std::numeric_limits<double>::infinity()), "-inf");
}

TEST(Format, TextsTakeTheirPlaces) {
  const std::string second = "bc";
  const FormatArgument all[] = {"a", second, true, 'd'};
  EXPECT_EQ(format_all("{} {} {} {}", all), "a bc true d");
  EXPECT_EQ(format_all("{1}{0}{1}", all), "bcabc");
  EXPECT_EQ(format_all("{{{}}} {:<4}|{:>6}|", all), "{a} bc  |  true|");
}

}  // namespace
}  // namespace upsweep::web
