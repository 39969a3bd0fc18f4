// SPDX-License-Identifier: Apache-2.0
// The upsweep program. A command is a file beside this one with its add_...() in the list below.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <format>
#include <functional>
#include <iostream>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands.h"

namespace upsweep::cli {

using AddCommand = void(Program&);
AddCommand add_info, add_reduce, add_scan, add_select, add_unique, add_run_length, add_histogram, add_sort, add_argsort,
    add_top_k, add_spmv, add_solve, add_pagerank, add_explain, add_bench;

constexpr AddCommand* commands[] = {add_info,       add_reduce,    add_scan,     add_select,  add_unique,
                                    add_run_length, add_histogram, add_sort,     add_argsort, add_top_k,
                                    add_spmv,       add_solve,     add_pagerank, add_explain, add_bench};

namespace {

constexpr std::size_t most_of_word = 200;

std::string cut_short(std::string_view text) {
  const auto is_inside = [](char c) { return (static_cast<unsigned char>(c) & 0xc0u) == 0x80; };  // a letter of UTF-8
  std::size_t end = most_of_word;
  while (end != 0 && is_inside(text[end])) --end;
  const auto left_out = std::ranges::count_if(text.substr(end), std::not_fn(is_inside));
  return std::format("{}... ({} more characters)", text.substr(0, end), left_out);
}

// A long word of the command line, as an expression of a thousand terms, is cut short in what is said about it.
std::string with_short_words(std::string message, std::span<char* const> words) {
  for (std::string_view word : words) {
    if (word.starts_with("--")) word.remove_prefix(word.find('=') + 1);
    const std::string line = single_line(word);
    if (line.size() <= most_of_word) continue;
    const std::string cut = cut_short(line);
    for (auto at = message.find(line); at != std::string::npos; at = message.find(line, at + cut.size())) {
      message.replace(at, line.size(), cut);
    }
  }
  return message;
}

// So is a long name, which may be one of a file's text or a part of an expression. What is cut already is left.
std::string with_short_names(std::string_view message) {
  std::string text;
  for (auto at = message.begin(); at != message.end();) {
    const auto end = std::find_if_not(at, message.end(), is_of_name);
    const std::string_view name(at, end);
    text += name.size() <= 2 * most_of_word ? std::string(name) : cut_short(name);
    at = std::find_if(end, message.end(), is_of_name);
    text.append(end, at);
  }
  return text;
}

int report(const Failure& failure, std::span<char* const> words) {
  std::cerr << "upsweep: " << with_short_names(with_short_words(single_line(failure.message), words)) << '\n'
            << std::flush;
  return failure.exit_code;
}

// A driver that flushes all streams as it goes away leaves the error with stdout, not with std::cout.
bool flush_output() { return std::cout.flush() && std::ferror(stdout) == 0; }

// Letters to insert, delete or replace.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::ranges::iota(row, std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t before = std::exchange(row[0], i + 1);  // of both without their last letters
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t least = std::min({row[j] + 1, row[j + 1] + 1, before + (a[i] == b[j] ? 0 : 1)});
      before = std::exchange(row[j + 1], least);
    }
  }
  return row.back();
}

// The option of the command, or of those around it, that begins with `word` or is spelt almost so.
std::string option_like(const CLI::App& command, std::string_view word) {
  const std::size_t most_edits = word.size() < 6 ? 1 : 2;
  std::size_t least = most_edits + 1;
  std::string nearest;
  for (const CLI::App* app = &command; app != nullptr; app = app->get_parent()) {
    for (const CLI::Option* option : app->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        std::string known = "--" + name;
        const std::size_t edits = word.size() > 3 && known.starts_with(word) ? 0 : edit_distance(word, known);
        if (edits >= least) continue;
        least = edits;
        nearest = std::move(known);
      }
    }
  }
  return nearest;
}

// What the parser says, but for what is unknown, and for a command that is missing: then which there are.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  const std::vector<std::string> words = app.remaining(true);
  const auto is_option = [](std::string_view word) { return word.size() > 1 && word.starts_with('-'); };
  const bool needs_command = command->get_require_subcommand_min() != 0;
  // Where another word stands in a command's place, its options are not the fault.
  if (!needs_command || words.empty() || is_option(words.front())) {
    if (const auto unknown = std::ranges::find_if(words, is_option); unknown != words.end()) {
      const std::string word = unknown->substr(0, unknown->find('='));
      const std::string known = option_like(*command, word);
      return std::format("there is no option \"{}\"{}", word, known.empty() ? "" : std::format(" (is it {}?)", known));
    }
    if (!needs_command || dynamic_cast<const CLI::RequiredError*>(&error) == nullptr) return error.what();
  }
  const std::string prefix = command == &app ? "" : command->get_name() + " ";
  std::string names;
  for (const CLI::App* known : command->get_subcommands([](const CLI::App*) { return true; })) {
    names += std::format("{}{}", names.empty() ? "" : ", ", prefix + known->get_name());
  }
  if (words.empty()) return std::format("which command? There are: {}", names);
  return std::format("there is no command \"{}\"; commands are: {}", prefix + words.front(), names);
}

void add_global_options(Program& program) {
  CLI::App& app = program.app;
  AdapterRequest& request = program.global.adapter;
  app.set_version_flag("--version", "upsweep " UPSWEEP_VERSION);
  app.add_option("--adapter", request.name, "Adapter by a part of its name or driver; `upsweep info` lists them")
      ->type_name("NAME");
  app.add_option("--backend", request.backend, "Adapter by its API: vulkan, metal, d3d12")->type_name("NAME");
  app.add_flag("--no-subgroups", request.without_subgroups, "Use the paths for devices without subgroups");
  app.add_option_function<std::string>(
         "--limits", [&request](const std::string& limits) { request.default_limits = limits == "minimum"; },
         "minimum: ask the device only for what every WebGPU device has")
      ->check(CLI::IsMember({"minimum", "adapter"}));
  app.footer(
      "Examples:\n"
      "  upsweep info\n"
      "  upsweep reduce --op max temperatures.npy\n"
      "  upsweep scan counts.npy -o offsets.npy --exclusive --total\n"
      "  upsweep select --where 'x > 0.5' samples.npy -o large.npy\n"
      "  upsweep histogram --bins 100 samples.npy --plot\n"
      "  upsweep sort --descending scores.npy -o sorted.npy\n"
      "  upsweep topk -k 100 scores.npy -o best.npy\n"
      "  upsweep spmv A.mtx X.npy -o Y.npy\n"
      "  upsweep solve A.mtx B.npy -o X.npy\n"
      "  upsweep explain reduce --op sum --type f32 --items 2^24\n"
      "  upsweep bench --ladder reduce\n"
      "A file - is standard input, /dev/stdout standard output, unless text is printed there, as by --total and "
      "--json.\n"
      "No command writes over a file that it reads, or to standard error, where notes go.\n"
      "Types of items go by NumPy's short names, which count bytes: u1 is uint8, i8 int64, f4 float32, b1 bool;\n"
      "explain and bench know them beside the library's own, which count bits: i64, f32.\n"
      "`upsweep COMMAND --help` has more. Global options may stand before or after the command.\n"
      "Exit codes: 0 done, 1 the device failed, 2 bad input or usage.");
  app.get_formatter()->enable_footer_formatting(false);
  app.require_subcommand(1);
}

int run(int argc, char** argv) {
  const std::span words(argv, static_cast<std::size_t>(argc));
  Program program;
  add_global_options(program);
  for (AddCommand* add : commands) add(program);
  for (const std::string_view word : words.subspan(std::min<std::size_t>(words.size(), 1))) {
    if (word == "--") break;
    // Else the next word would be taken for the value.
    if (word.starts_with("--") && word.find('=') == word.size() - 1) {
      return report({usage_failure, std::format("{} is empty", word.substr(0, word.size() - 1))}, words);
    }
  }
  try {
    program.app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) {
      return report({usage_failure, usage_message(program.app, error) + "; --help shows the usage"}, words);
    }
    program.app.exit(error);  // prints the help or the version
    return flush_output() ? 0 : report({device_failure, "cannot write to standard output"}, words);
  }
  if (const Outcome outcome = program.action(); !outcome) return report(outcome.error(), words);
  if (!flush_output()) return report({device_failure, "cannot write to standard output"}, words);
  return 0;
}

}  // namespace
}  // namespace upsweep::cli

int main(int argc, char** argv) {
  // A reader that goes away (head, less) ends the program as it does any other filter, whatever the parent set.
  std::signal(SIGPIPE, SIG_DFL);
  try {
    return upsweep::cli::run(argc, argv);
  } catch (const std::exception& error) {
    return upsweep::cli::report({upsweep::cli::device_failure, error.what()}, {});
  }
}
