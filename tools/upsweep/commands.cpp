// SPDX-License-Identifier: Apache-2.0
#include "commands.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <format>
#include <limits>
#include <optional>
#include <ranges>

#include "output_file.h"

namespace upsweep::cli {
namespace {

constexpr const char* standard_input = "/dev/stdin";

// Whether writing one would change or lose the other. Devices and pipes take what comes.
bool is_same_file(const std::string& a, const std::string& b) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::exists(a, error) && fs::exists(b, error)) {
    return fs::equivalent(a, b, error) && !fs::is_other(a, error);
  }
  // Of a path that exists in no part weakly_canonical makes no absolute one.
  const fs::path first = fs::weakly_canonical(fs::absolute(a, error), error);
  return !error && first == fs::weakly_canonical(fs::absolute(b, error), error);
}

// The compiler's lines on one text, or what the library says of it before.
std::string complaints_about(const UserText& user, std::string_view message) {
  if (message.starts_with(std::format("The {} ", user.origin))) return std::string(message);
  std::string complaints;
  for (const auto part : std::views::split(message, '\n')) {
    std::string_view line(part);
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (!line.starts_with(user.origin)) continue;
    const std::string_view numbered = line.substr(user.origin.size());
    const auto text = numbered.find(": ");  // behind the number of the line
    if (numbered.find_first_not_of(":0123456789") == text + 1) {
      complaints += complaints.empty() ? "" : "; ";
      complaints += user.is_file ? line : numbered.substr(text + 2);
    }
  }
  return complaints;
}

bool is_stream(const std::string& path, int descriptor) {
  if (npy::descriptor_named_by(path) == descriptor) return true;
  struct stat file{};
  struct stat stream{};
  // Character devices: what is written to the null device is not mixed.
  return stat(path.c_str(), &file) == 0 && fstat(descriptor, &stream) == 0 && !S_ISCHR(file.st_mode) &&
         file.st_dev == stream.st_dev && file.st_ino == stream.st_ino;
}

}  // namespace

bool is_standard_output(const std::string& path) { return is_stream(path, STDOUT_FILENO); }
bool is_standard_error(const std::string& path) { return is_stream(path, STDERR_FILENO); }

std::unexpected<Failure> failed(const Error& error, bool has_user_text) {
  const bool is_request = error.kind == ErrorKind::invalid_request || error.kind == ErrorKind::unsupported ||
                          (error.kind == ErrorKind::internal && has_user_text);
  return std::unexpected(Failure{is_request ? usage_failure : device_failure, single_line(error.message)});
}

std::unexpected<Failure> failed(const Error& error, std::span<const UserText> texts) {
  bool has_user_text = false;
  for (const UserText& text : texts) {
    if (text.text.empty()) continue;
    has_user_text = true;
    const std::string complaints = complaints_about(text, error.message);
    if (complaints.empty()) continue;
    const std::string quoted = text.is_file ? std::string() : std::format(" \"{}\"", text.text);
    return refuse(single_line(std::format("{}{}: {}", text.option, quoted, complaints)));
  }
  return failed(error, has_user_text);
}

bool is_of_name(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return c == '_' || byte >= 0x80 || std::isalnum(byte) != 0;
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
  if (!value) return refuse(std::format("\"{}\" is no count; write 1000000, 1e6 or 2^20", single_line(text)));
  return *value;
}

CLI::Validator count_text() {
  const auto rewrite = [](std::string& text) {
    const auto count = parse_count(text);
    if (!count) return count.error().message;
    text = std::to_string(*count);
    return std::string();
  };
  return {rewrite, "", "count"};
}

CLI::Validator positive_number() {
  const auto check = [](const std::string& text) {
    double number = 0;
    const bool is_positive = CLI::detail::lexical_cast(text, number) && number > 0 && std::isfinite(number);
    return is_positive ? std::string() : std::format("{} is no number above 0", single_line(text));
  };
  return {check, "POSITIVE", "positive"};
}

std::string type_name(const std::string& text) {
  struct Name {
    std::string_view numpys;
    std::string_view ours;
  };
  static constexpr std::array<Name, 7> names{
      {{"u4", "u32"}, {"i4", "i32"}, {"f2", "f16"}, {"f4", "f32"}, {"u8", "u64"}, {"i8", "i64"}, {"f8", "f64"}}};
  const auto name = std::ranges::find(names, text, &Name::numpys);
  return name == names.end() ? text : std::string(name->ours);
}

Expected<std::string> narrow_type_name(std::string_view option, const std::string& text) {
  if (text == "u8") return refuse(std::format("{} u8 may be 8 bits, or 8 bytes as in NumPy; write u1 or u64", option));
  if (text == "u1") return "u8";
  if (text == "u2") return "u16";
  return type_name(text);
}

Expected<ElementType> read_type(std::string_view option, const std::string& text) {
  auto type = element_type_from_name(type_name(text));
  if (!type) return refuse(std::format("{} {}: {}", option, text, type.error().message));
  return *type;
}

CLI::Option* Program::reads(CLI::Option* option) {
  inputs_.push_back(option);
  return option->transform([](const std::string& path) { return path == "-" ? standard_input : path; });
}

CLI::Option* Program::writes(CLI::Option* option) {
  outputs_.push_back(option);
  return option;
}

CLI::Option* Program::prints(CLI::Option* option) {
  printing_.push_back(option);
  return option;
}

Outcome Program::check_files() const {
  struct File {
    std::string option;
    std::string path;
  };
  // Options of other commands were not given.
  const auto given = [](const std::vector<const CLI::Option*>& options) {
    std::vector<File> files;
    for (const CLI::Option* option : options) {
      for (const std::string& path : option->results()) files.push_back({option->get_name(), path});
    }
    return files;
  };
  const std::vector<File> inputs = given(inputs_);
  const std::vector<File> outputs = given(outputs_);
  for (const std::vector<File>* files : {&inputs, &outputs}) {
    const auto nameless = std::ranges::find(*files, "", &File::path);
    if (nameless != files->end()) return refuse(std::format("{}: the name of the file is empty", nameless->option));
  }
  for (auto input = inputs.begin(); input != inputs.end(); ++input) {
    const auto before = std::ranges::find(inputs.begin(), input, standard_input, &File::path);
    if (input->path == standard_input && before != input) {
      return refuse(std::format("{} and {} cannot both be standard input", before->option, input->option));
    }
  }
  for (auto output = outputs.begin(); output != outputs.end(); ++output) {
    if (output->path == "-") {
      return refuse(std::format("{} -: results go to a file; ./- is one of that name", output->option));
    }
    const auto printing = std::ranges::find_if(printing_, [](const CLI::Option* option) {
      return option->count() != 0 && !std::ranges::contains(std::array{"0", "false"}, option->results().front());
    });
    if (printing != printing_.end() && is_standard_output(output->path)) {
      return refuse(std::format("{} {}: {} prints text there; name a file", output->option, output->path,
                                (*printing)->get_name()));
    }
    if (is_standard_error(output->path)) {
      return refuse(std::format("{} {}: standard error goes there, with notes and progress; name another file",
                                output->option, npy::one_line(output->path)));
    }
    const auto is_it = [&](const File& other) { return is_same_file(output->path, other.path); };
    if (const auto input = std::ranges::find_if(inputs, is_it); input != inputs.end()) {
      return refuse(std::format("{} would overwrite {}, an input ({}); name another file", output->option,
                                npy::one_line(output->path), input->option));
    }
    if (const auto other = std::ranges::find_if(outputs.begin(), output, is_it); other != output) {
      return refuse(
          std::format("{} and {} name the same file, {}", other->option, output->option, npy::one_line(output->path)));
    }
    const auto first = std::ranges::find_if(outputs.begin(), output, is_standard_output, &File::path);
    if (first != output && is_standard_output(output->path)) {
      return refuse(std::format("{} and {} both go to standard output", first->option, output->option));
    }
  }
  return {};
}

Outcome Program::check_values(const CLI::App& command) {
  for (const CLI::App* app = &command; app != nullptr; app = app->get_parent()) {
    for (const CLI::Option* option : app->get_options()) {
      if (std::ranges::contains(option->results(), "")) return refuse(std::format("{} is empty", option->get_name()));
    }
  }
  return {};
}

Expected<std::uint64_t> parse_row_count(std::string_view text, std::uint64_t row_length) {
  const auto rows = parse_count(text);
  constexpr std::uint64_t most = 0xffffffff;
  if (rows && (row_length > most || (row_length != 0 && *rows > most / row_length))) {
    return refuse(std::format("--rows: {} rows of {} items are more than the device can count", *rows, row_length));
  }
  return rows;
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
