// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/tuning.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <format>
#include <span>
#include <string_view>
#include <variant>

namespace upsweep::bench {
namespace {

template <typename Tuning>
struct Knob {
  std::string_view name;
  std::variant<std::uint32_t Tuning::*, bool Tuning::*> field;
};

constexpr std::array<Knob<ReduceTuning>, 8> reduce_knobs{{
    {"workgroup_size", &ReduceTuning::workgroup_size},
    {"units_per_thread", &ReduceTuning::units_per_thread},
    {"use_vectors", &ReduceTuning::use_vectors},
    {"use_subgroups", &ReduceTuning::use_subgroups},
    {"single_pass", &ReduceTuning::single_pass},
    {"max_workgroups", &ReduceTuning::max_workgroups},
    {"longest_chain", &ReduceTuning::longest_chain},
    {"one_workgroup_items", &ReduceTuning::one_workgroup_items},
}};
constexpr std::array<Knob<ScanTuning>, 7> scan_knobs{{
    {"workgroup_size", &ScanTuning::workgroup_size},
    {"rows", &ScanTuning::rows},
    {"use_vectors", &ScanTuning::use_vectors},
    {"use_subgroups", &ScanTuning::use_subgroups},
    {"max_workgroups", &ScanTuning::max_workgroups},
    {"one_workgroup_items", &ScanTuning::one_workgroup_items},
    {"poll_rounds", &ScanTuning::poll_rounds},
}};

struct Change {
  std::string_view knob;
  std::string_view value;
};

Result<Change> read_change(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    return fail(ErrorKind::invalid_request, std::format("\"{}\" is no change of a tuning; write knob=value.", text));
  }
  return Change{text.substr(0, equals), text.substr(equals + 1)};
}

Result<std::uint32_t> read_number(const Change& change) {
  const std::string text(change.value);
  const char* end = text.data() + text.size();
  std::uint32_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end) {
    return fail(ErrorKind::invalid_request,
                std::format("The knob {} takes a number, not \"{}\".", change.knob, change.value));
  }
  return number;
}

template <typename Tuning>
Status turn(Tuning& tuning, std::span<const Knob<Tuning>> knobs, const Change& change, std::string_view also) {
  const auto knob = std::ranges::find(knobs, change.knob, &Knob<Tuning>::name);
  if (knob == knobs.end()) {
    std::string names(also);
    for (const Knob<Tuning>& known : knobs) names += std::format("{}{}", names.empty() ? "" : ", ", known.name);
    return fail(ErrorKind::invalid_request, std::format("There is no knob {}; there are: {}.", change.knob, names));
  }
  const auto number = read_number(change);
  if (!number) return std::unexpected(number.error());
  if (const auto* count = std::get_if<std::uint32_t Tuning::*>(&knob->field)) {
    tuning.*(*count) = *number;
    return {};
  }
  if (*number > 1) {
    return fail(ErrorKind::invalid_request, std::format("The knob {} is 0 or 1, not {}.", change.knob, *number));
  }
  tuning.*std::get<bool Tuning::*>(knob->field) = *number == 1;
  return {};
}

}  // namespace

Status change_tuning(ReduceTuning& tuning, const std::vector<std::string>& changes) {
  for (const std::string& text : changes) {
    const auto change = read_change(text);
    if (!change) return std::unexpected(change.error());
    if (const Status ok = turn<ReduceTuning>(tuning, reduce_knobs, *change, ""); !ok) return ok;
  }
  return {};
}

Status change_tuning(ScanTuning& tuning, const std::vector<std::string>& changes) {
  for (const std::string& text : changes) {
    const auto change = read_change(text);
    if (!change) return std::unexpected(change.error());
    if (change->knob != "path") {
      if (const Status ok = turn<ScanTuning>(tuning, scan_knobs, *change, "path"); !ok) return ok;
      continue;
    }
    constexpr std::array paths{ScanPath::automatic, ScanPath::two_pass, ScanPath::single_pass};
    const auto path = std::ranges::find(paths, change->value, [](ScanPath p) { return to_string(p); });
    if (path == paths.end()) {
      return fail(ErrorKind::invalid_request,
                  std::format("There is no path {}; there are: {}, {}, {}.", change->value, to_string(paths[0]),
                              to_string(paths[1]), to_string(paths[2])));
    }
    tuning.path = *path;
  }
  return {};
}

}  // namespace upsweep::bench
