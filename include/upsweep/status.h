// SPDX-License-Identifier: Apache-2.0
// Results of calls that can fail. No exception crosses the API and nothing is printed.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <utility>

namespace upsweep {

/// Why a call failed. The kind tells whose move it is; the message is for people.
enum class ErrorKind : std::uint8_t {
  invalid_request,  ///< The caller asked for something impossible or contradictory; nothing was recorded.
  unsupported,      ///< The device lacks a feature or limit that the request needs; nothing was recorded.
  device,           ///< The device refused, was lost or ran out of memory.
  internal,         ///< A fault of the library: a kernel that does not compile, a plan that does not bind.
};

struct Error {
  ErrorKind kind = ErrorKind::internal;
  /// Full sentences: what failed, the value and the limit, then " - While ..." lines of context.
  std::string message;

  bool operator==(const Error&) const = default;
};

using Status = std::expected<void, Error>;
template <typename T>
using Result = std::expected<T, Error>;

[[nodiscard]] inline std::unexpected<Error> fail(ErrorKind kind, std::string message) {
  return std::unexpected(Error{kind, std::move(message)});
}

/// The same error with one more line of context.
[[nodiscard]] inline std::unexpected<Error> with_context(Error error, const std::string& context) {
  error.message += "\n - While " + context + ".";
  return std::unexpected(std::move(error));
}

}  // namespace upsweep
