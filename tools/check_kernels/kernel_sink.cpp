// SPDX-License-Identifier: Apache-2.0
#include "kernel_sink.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <format>
#include <fstream>
#include <utility>

namespace upsweep {
namespace {

// The text without // comments and with each run of white space as one blank.
std::string condensed(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "//") i = std::min(text.find('\n', i), text.size() - 1);
    const bool is_space = std::isspace(static_cast<unsigned char>(text[i])) != 0;
    if (!is_space) {
      result += text[i];
    } else if (!result.ends_with(' ')) {
      result += ' ';
    }
  }
  return result;
}

}  // namespace

std::vector<std::string> broken_rules(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> banned{{
      {"override ", "Safari gives arrays of an override's size no elements, and no array elsewhere may have one"},
      {"ptr<storage", "Firefox takes no pointers to storage as parameters"},
      {"ptr<workgroup", "Firefox takes no pointers to workgroup memory as parameters"},
      {"num_workgroups", "it needs a hidden buffer in indirect dispatches; the grid is in the params"},
  }};
  std::vector<std::string> broken;
  const std::string code = condensed(text);
  for (const auto& [token, why] : banned) {
    if (code.find(token) != std::string::npos) broken.push_back(std::format("\"{}\": {}", token, why));
  }
  const bool is_ascii = std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); });
  if (!is_ascii) broken.emplace_back("bytes outside printable ASCII");
  return broken;
}

void KernelSink::add(std::string_view what, const Result<Plan>& plan) {
  if (!plan) {
    fail(std::format("{}: {}", what, plan.error().message));
    return;
  }
  ++plan_count_;
  for (const Dispatch& dispatch : plan->dispatches) add_kernel(what, *dispatch.kernel);
}

void KernelSink::expect_refused(std::string_view what, const Result<Plan>& plan) {
  if (plan) {
    fail(std::format("{}: planned, but it makes no sense", what));
    return;
  }
  if (plan.error().kind != ErrorKind::invalid_request) {
    fail(std::format("{}: refused, but not as invalid: {}", what, plan.error().message));
  }
  ++refused_count_;
}

void KernelSink::add_kernel(std::string_view what, const Kernel& kernel) {
  for (const LineOrigin& line : kernel.lines) origins_.insert(line.origin);
  const std::string name = std::format("{}-{:016x}.wgsl", kernel.name, kernel.text_hash);
  const auto [place, is_new] = texts_.try_emplace(kernel.text, name);
  if (!is_new) return;
  const std::filesystem::path path = folder_ / name;
  if (std::filesystem::exists(path)) fail(std::format("{}: two texts have the hash {:016x}", what, kernel.text_hash));
  for (const std::string& rule : broken_rules(kernel.text)) fail(std::format("{} ({}): {}", what, name, rule));
  std::ofstream file(path, std::ios::binary);
  // At the end, so that lines keep their numbers.
  file << kernel.text << "// " << what << '\n';
  if (!file.flush()) fail(std::format("{} cannot be written", path.string()));
}

}  // namespace upsweep
