// SPDX-License-Identifier: Apache-2.0
#include "commands.h"

#include <charconv>
#include <format>
#include <limits>
#include <optional>

#include "output_file.h"

namespace upsweep::cli {

std::unexpected<Failure> failed(const Error& error, bool has_user_text) {
  const bool is_request = error.kind == ErrorKind::invalid_request || error.kind == ErrorKind::unsupported ||
                          (error.kind == ErrorKind::internal && has_user_text);
  return std::unexpected(Failure{is_request ? usage_failure : device_failure, single_line(error.message)});
}

std::string single_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const bool is_space = c == '\n' || c == ' ';
    if (is_space && (line.empty() || line.back() == ' ')) continue;
    line += is_space ? ' ' : c;
  }
  return npy::one_line(line);
}

Expected<std::uint64_t> parse_count(std::string_view text) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  const auto number = [](std::string_view digits) -> std::optional<std::uint64_t> {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return value;
  };
  const auto mark = text.find_first_of("^eE");
  auto value = number(text.substr(0, mark));
  if (value && mark != std::string_view::npos) {
    const auto exponent = number(text.substr(mark + 1));
    const std::uint64_t factor = text[mark] == '^' ? *value : 10;
    if (text[mark] == '^') value = 1;
    if (!exponent || *exponent > 64) value.reset();
    for (std::uint64_t i = 0; value && i < *exponent; ++i) {
      if (factor != 0 && *value > most / factor) {
        value.reset();
      } else {
        *value *= factor;
      }
    }
  }
  if (!value) return refuse(std::format("\"{}\" is no count; write 1000000, 1e6 or 2^20.", single_line(text)));
  return *value;
}

Expected<std::unique_ptr<Context>> open_context(const GlobalOptions& global, bool debug) {
  auto context = Context::create(global.adapter, {.debug = debug});
  if (!context) return failed(context.error());
  return std::move(*context);
}

Outcome check_device(Context& context) {
  if (const auto error = context.take_error()) return failed(*error);
  return {};
}

}  // namespace upsweep::cli
