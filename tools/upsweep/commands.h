// SPDX-License-Identifier: Apache-2.0
// What the commands share: options, errors, the device.
#pragma once

#include <CLI/CLI.hpp>
#include <expected>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "upsweep/context.h"
#include "upsweep/element.h"

namespace upsweep::cli {

// Ends the program with one line on stderr.
struct Failure {
  int exit_code = 1;
  std::string message;
};
using Outcome = std::expected<void, Failure>;
template <typename T>
using Expected = std::expected<T, Failure>;

inline constexpr int device_failure = 1;
inline constexpr int usage_failure = 2;

// Bad input or usage.
inline std::unexpected<Failure> refuse(std::string message) {
  return std::unexpected(Failure{usage_failure, std::move(message)});
}
// With `has_user_text` a kernel that does not compile is taken for a mistake in that text.
std::unexpected<Failure> failed(const Error& error, bool has_user_text = false);

// What the user gave in an option, and what compiler messages call it. Of a text in a file, which the option names,
// messages keep the line.
struct UserText {
  std::string_view option;
  std::string_view text;
  std::string_view origin;
  bool is_file = false;
};
// A compiler's complaint about one of these texts in short: the option, the text, the message. Other errors as above.
std::unexpected<Failure> failed(const Error& error, std::span<const UserText> texts);
inline std::unexpected<Failure> failed(const Error& error, const UserText& text) {
  return failed(error, std::span(&text, 1));
}

// Whether a file of that name is what standard output, or standard error, goes to: the stream itself or the same file
// or pipe.
bool is_standard_output(const std::string& path);
bool is_standard_error(const std::string& path);

// Whether a name of WGSL may have it. Letters beyond ASCII are left to the compiler.
bool is_of_name(char c);

// Several lines as one, without control characters.
std::string single_line(std::string_view text);

// 1000000, 1e6 or 2^20.
Expected<std::uint64_t> parse_count(std::string_view text);
// For CLI::Option::transform: an option takes counts written so, and its errors name it.
CLI::Validator count_text();
// For CLI::Option::check: numbers above 0.
CLI::Validator positive_number();
// The library's name of a type, which counts bits, for NumPy's short one, which counts bytes. Other texts as they are.
std::string type_name(const std::string& text);
// The same where types of 8 and 16 bits are known, too, so that u8 could be either. Errors name the option.
Expected<std::string> narrow_type_name(std::string_view option, const std::string& text);
// The type of that name.
Expected<ElementType> read_type(std::string_view option, const std::string& text);
// A count of rows of so many items each, which 32-bit indices must reach.
Expected<std::uint64_t> parse_row_count(std::string_view text, std::uint64_t row_length);

struct GlobalOptions {
  AdapterRequest adapter;
};

struct Program {
  CLI::App app{"Parallel primitives for WebGPU on arrays in files.", "upsweep"};
  GlobalOptions global;
  std::function<Outcome()> action;  // of the command that was chosen

  // Options that name files. Inputs may be "-", standard input. Before a command runs it is refused if one of its
  // outputs is "-", standard error, one of its inputs or another output, or if two inputs are standard input.
  CLI::Option* reads(CLI::Option* option);
  CLI::Option* writes(CLI::Option* option);
  // One with which the command prints text, unless it is 0 or false, so that no output may be standard output.
  CLI::Option* prints(CLI::Option* option);
  [[nodiscard]] Outcome check_files() const;
  // Refuses options with a value of no characters, which would pass for options that were not given.
  [[nodiscard]] static Outcome check_values(const CLI::App& command);

  // A command whose options fill `options`, and which runs as run(program, options).
  template <typename Options, typename Run>
  CLI::App& add(CLI::App& parent, std::string name, std::string description, std::string examples,
                std::shared_ptr<Options> options, Run run) {
    CLI::App& command = *parent.add_subcommand(std::move(name), std::move(description));
    command.fallthrough();
    command.footer("Examples:\n" + std::move(examples));
    command.final_callback([this, &command, options = std::move(options), run] {
      action = [this, &command, options, run]() -> Outcome {
        if (const auto ok = check_files(); !ok) return ok;
        if (const auto ok = check_values(command); !ok) return ok;
        return run(*this, *options);
      };
    });
    return command;
  }

 private:
  std::vector<const CLI::Option*> inputs_;
  std::vector<const CLI::Option*> outputs_;
  std::vector<const CLI::Option*> printing_;
};

Expected<std::unique_ptr<Context>> open_context(const GlobalOptions& global, bool debug = false);
// The first error that the device reported by itself.
Outcome check_device(Context& context);

}  // namespace upsweep::cli
