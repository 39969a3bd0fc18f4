#include "input_file.h"

#include <algorithm>
#include <cstddef>
#include <format>
#include <system_error>

#include "output_file.h"

namespace upsweep::npy {

std::unexpected<std::string> file_error(std::string_view name, std::string_view what) {
  return std::unexpected(std::format("{}: {}", one_line(name), what));
}

std::unexpected<std::string> system_error(std::string_view name, std::string_view what, int number) {
  return file_error(name, std::format("{}: {}", what, std::generic_category().message(number)));
}

std::string excerpt(std::string_view text) {
  constexpr std::size_t limit = 60;
  std::string result(text.substr(0, limit));
  std::ranges::replace_if(result, [](char c) { return c < 0x20 || c > 0x7e; }, '?');
  if (text.size() > limit) result += "...";
  return result;
}

}  // namespace upsweep::npy
