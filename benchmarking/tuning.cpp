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
constexpr std::array<Knob<ScanTuning>, 8> scan_knobs{{
    {"workgroup_size", &ScanTuning::workgroup_size},
    {"rows", &ScanTuning::rows},
    {"use_vectors", &ScanTuning::use_vectors},
    {"use_subgroups", &ScanTuning::use_subgroups},
    {"max_workgroups", &ScanTuning::max_workgroups},
    {"one_workgroup_items", &ScanTuning::one_workgroup_items},
    {"in_order", &ScanTuning::in_order},
    {"poll_rounds", &ScanTuning::poll_rounds},
}};

constexpr std::array<Knob<SortTuning>, 12> sort_knobs{{
    {"workgroup_size", &SortTuning::workgroup_size},
    {"items_per_thread", &SortTuning::items_per_thread},
    {"digit_bits", &SortTuning::digit_bits},
    {"stage_rounds", &SortTuning::stage_rounds},
    {"use_subgroups", &SortTuning::use_subgroups},
    {"lock_step", &SortTuning::lock_step},
    {"look_back_late", &SortTuning::look_back_late},
    {"in_order", &SortTuning::in_order},
    {"poll_rounds", &SortTuning::poll_rounds},
    {"look_records", &SortTuning::look_records},
    {"max_workgroups", &SortTuning::max_workgroups},
    {"one_workgroup_items", &SortTuning::one_workgroup_items},
}};

constexpr std::array<Knob<MergeSortTuning>, 5> merge_sort_knobs{{
    {"sort_workgroup_size", &MergeSortTuning::sort_workgroup_size},
    {"sort_items_per_thread", &MergeSortTuning::sort_items_per_thread},
    {"merge_workgroup_size", &MergeSortTuning::merge_workgroup_size},
    {"merge_items_per_thread", &MergeSortTuning::merge_items_per_thread},
    {"split_pass_items", &MergeSortTuning::split_pass_items},
}};
constexpr std::array<Knob<TopKTuning>, 7> top_k_knobs{{
    {"workgroup_size", &TopKTuning::workgroup_size},
    {"items_per_thread", &TopKTuning::items_per_thread},
    {"digit_bits", &TopKTuning::digit_bits},
    {"max_workgroups", &TopKTuning::max_workgroups},
    {"candidate_items", &TopKTuning::candidate_items},
    {"candidate_share", &TopKTuning::candidate_share},
    {"sort_all_items", &TopKTuning::sort_all_items},
}};
constexpr std::array<Knob<SearchTuning>, 3> search_knobs{{
    {"workgroup_size", &SearchTuning::workgroup_size},
    {"queries_per_thread", &SearchTuning::queries_per_thread},
    {"sample_bytes", &SearchTuning::sample_bytes},
}};

constexpr std::array<Knob<HistogramTuning>, 10> histogram_knobs{{
    {"workgroup_size", &HistogramTuning::workgroup_size},
    {"units_per_thread", &HistogramTuning::units_per_thread},
    {"use_vectors", &HistogramTuning::use_vectors},
    {"register_bins", &HistogramTuning::register_bins},
    {"copies", &HistogramTuning::copies},
    {"window_bins", &HistogramTuning::window_bins},
    {"max_windows", &HistogramTuning::max_windows},
    {"cache_slots", &HistogramTuning::cache_slots},
    {"max_workgroups", &HistogramTuning::max_workgroups},
    {"one_workgroup_samples", &HistogramTuning::one_workgroup_samples},
}};

constexpr std::array<Knob<SpmvTuning>, 5> spmv_knobs{{
    {"workgroup_size", &SpmvTuning::workgroup_size},
    {"lanes_per_row", &SpmvTuning::lanes_per_row},
    {"loads_ahead", &SpmvTuning::loads_ahead},
    {"items_per_thread", &SpmvTuning::items_per_thread},
    {"use_subgroups", &SpmvTuning::use_subgroups},
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

namespace {

template <typename Tuning>
Status change_knobs(Tuning& tuning, const std::vector<std::string>& changes, std::span<const Knob<Tuning>> knobs) {
  for (const std::string& text : changes) {
    const auto change = read_change(text);
    if (!change) return std::unexpected(change.error());
    if (const Status ok = turn<Tuning>(tuning, knobs, *change, ""); !ok) return ok;
  }
  return {};
}

}  // namespace

Status change_tuning(ReduceTuning& tuning, const std::vector<std::string>& changes) {
  return change_knobs<ReduceTuning>(tuning, changes, reduce_knobs);
}

Status change_tuning(MergeSortTuning& tuning, const std::vector<std::string>& changes) {
  return change_knobs<MergeSortTuning>(tuning, changes, merge_sort_knobs);
}

Status change_tuning(TopKTuning& tuning, const std::vector<std::string>& changes) {
  return change_knobs<TopKTuning>(tuning, changes, top_k_knobs);
}

Status change_tuning(SearchTuning& tuning, const std::vector<std::string>& changes) {
  return change_knobs<SearchTuning>(tuning, changes, search_knobs);
}

namespace {

// Tunings with a path beside their knobs.
template <typename Tuning, typename Path, std::size_t count>
Status change_tuning_with_path(Tuning& tuning, const std::vector<std::string>& changes,
                               std::span<const Knob<Tuning>> knobs, const std::array<Path, count>& paths) {
  for (const std::string& text : changes) {
    const auto change = read_change(text);
    if (!change) return std::unexpected(change.error());
    if (change->knob != "path") {
      if (const Status ok = turn<Tuning>(tuning, knobs, *change, "path"); !ok) return ok;
      continue;
    }
    const auto path = std::ranges::find(paths, change->value, [](Path p) { return to_string(p); });
    if (path == paths.end()) {
      std::string names;
      for (const Path known : paths) names += std::format("{}{}", names.empty() ? "" : ", ", to_string(known));
      return fail(ErrorKind::invalid_request, std::format("There is no path {}; there are: {}.", change->value, names));
    }
    tuning.path = *path;
  }
  return {};
}

}  // namespace

Status change_tuning(ScanTuning& tuning, const std::vector<std::string>& changes) {
  return change_tuning_with_path<ScanTuning, ScanPath>(
      tuning, changes, scan_knobs, std::array{ScanPath::automatic, ScanPath::two_pass, ScanPath::single_pass});
}

Status change_tuning(SortTuning& tuning, const std::vector<std::string>& changes) {
  return change_tuning_with_path<SortTuning, SortPath>(
      tuning, changes, sort_knobs, std::array{SortPath::automatic, SortPath::three_pass, SortPath::single_pass});
}

Status change_tuning(HistogramTuning& tuning, const std::vector<std::string>& changes) {
  return change_tuning_with_path<HistogramTuning, HistogramPath>(
      tuning, changes, histogram_knobs,
      std::array{HistogramPath::automatic, HistogramPath::registers, HistogramPath::workgroup, HistogramPath::cache});
}

Status change_tuning(SpmvTuning& tuning, const std::vector<std::string>& changes) {
  return change_tuning_with_path<SpmvTuning, SpmvPath>(
      tuning, changes, spmv_knobs, std::array{SpmvPath::automatic, SpmvPath::rows, SpmvPath::merge});
}

}  // namespace upsweep::bench
