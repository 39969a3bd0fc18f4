// SPDX-License-Identifier: Apache-2.0
// upsweep info: the device, and what the library makes of it.
#include <array>
#include <format>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "commands.h"
#include "upsweep/histogram.h"
#include "upsweep/reduce.h"
#include "upsweep/scan.h"
#include "upsweep/select.h"
#include "upsweep/sort.h"

namespace upsweep::cli {
namespace {

struct InfoOptions {
  bool json = false;
};

constexpr std::uint64_t typical_items = std::uint64_t{1} << 24;

// "sum of f32 items, subgroupAdd; 2^24 items in 2 passes".
std::string chosen_path(const Result<Plan>& plan, const std::string& subject) {
  if (!plan) return std::format("{}: {}", subject, single_line(plan.error().message));
  const std::size_t passes = plan->dispatches.size();
  return std::format("{}; 2^24 items in {} {}", plan->notes.at(0), passes, passes == 1 ? "pass" : "passes");
}

std::vector<std::string> reduce_paths(const DeviceTraits& traits) {
  std::vector<std::pair<BinaryOperator, ElementType>> cases{{BinaryOperator::sum(), ElementType::u32()},
                                                            {BinaryOperator::sum(), ElementType::f32()},
                                                            {BinaryOperator::min(), ElementType::f32()},
                                                            {BinaryOperator::argmin(), ElementType::f32()},
                                                            {BinaryOperator::sum(), ElementType::u64()}};
  if (traits.f16) cases.emplace_back(BinaryOperator::sum(), ElementType::f16());
  std::vector<std::string> paths;
  for (const auto& [op, type] : cases) {
    const auto plan = plan_reduce({.item_count = Count::on_host(typical_items), .input = type, .combine = op}, traits);
    paths.push_back(chosen_path(plan, std::format("{} of {}", to_string(op), type.name)));
  }
  return paths;
}

std::vector<std::string> scan_paths(const DeviceTraits& traits) {
  std::vector<std::string> paths;
  for (const ElementType& type : {ElementType::u32(), ElementType::f32(), ElementType::u64()}) {
    const auto plan = plan_scan({.item_count = Count::on_host(typical_items), .input = type}, traits);
    paths.push_back(chosen_path(plan, std::format("scan of {}", type.name)));
  }
  const auto selection =
      plan_select({.item_count = Count::on_host(typical_items), .predicate = Predicate::of("x > 0.0")}, traits);
  paths.push_back(chosen_path(selection, "selection of f32"));
  return paths;
}

std::vector<std::string> sort_paths(const DeviceTraits& traits) {
  std::vector<std::string> paths;
  for (const std::optional<ElementType>& value : {std::optional<ElementType>(), std::optional(ElementType::u32())}) {
    const auto plan = plan_sort({.item_count = Count::on_host(typical_items), .value = value}, traits);
    paths.push_back(chosen_path(plan, "sort of u32"));
    if (plan) paths.back() += "; " + plan->notes.at(1);
  }
  return paths;
}

std::vector<std::string> histogram_paths(const DeviceTraits& traits) {
  std::vector<std::string> paths;
  for (const std::uint32_t bins : {256u, 65536u}) {
    const auto plan = plan_histogram(
        {.item_count = Count::on_host(typical_items), .sample = SampleType::u32, .bins = HistogramBins::integers(bins)},
        traits);
    paths.push_back(chosen_path(plan, "histogram of u32"));
    if (plan) paths.back() += "; " + plan->notes.at(1);
  }
  return paths;
}

// What the context's self-test found, or why there was none.
std::string self_test_text(const Context& context) {
  const ProbeReport& probe = context.probe_report();
  if (probe.self_test_ran && probe.look_back) {
    return std::format("single passes by look-back are right; ranks of sorts by lanes in lock-step are {}",
                       probe.lock_step ? "right" : "not taken");
  }
  if (probe.self_test_ran) {
    return "single passes by look-back are not taken: " +
           (probe.self_test_error.empty() ? "a result was wrong" : single_line(probe.self_test_error));
  }
  return std::format("single passes by look-back are not taken: they were not tried{}",
                     context.traits().is_cpu ? ", as on all software adapters" : "");
}

nlohmann::ordered_json as_json(const Context& context) {
  const DeviceTraits& traits = context.traits();
  const ProbeReport& probe = context.probe_report();
  nlohmann::ordered_json json;
  json["adapter"] = traits.adapter;
  json["vendor"] = traits.adapter_vendor;
  json["driver"] = context.driver();
  json["backend"] = context.backend();
  json["is_cpu"] = traits.is_cpu;
  json["limits"] = {{"max_workgroup_size", traits.max_workgroup_size},
                    {"max_workgroup_bytes", traits.max_workgroup_bytes},
                    {"max_workgroups_per_dimension", traits.max_workgroups_per_dimension},
                    {"max_storage_buffers", traits.max_storage_buffers},
                    {"max_binding_bytes", traits.max_binding_bytes},
                    {"max_buffer_bytes", traits.max_buffer_bytes},
                    {"offset_alignment", traits.offset_alignment}};
  json["features"] = {{"subgroups", traits.subgroups},
                      {"subgroup_min_size", traits.subgroup_min_size},
                      {"subgroup_max_size", traits.subgroup_max_size},
                      {"subgroup_id_builtin", traits.subgroup_id_builtin},
                      {"f16", traits.f16},
                      {"timestamps", traits.timestamps}};
  json["probe"] = {{"ran", probe.ran},
                   {"subgroup_size", probe.subgroup_size},
                   {"ballot_width", probe.ballot_width},
                   {"subgroup_ids_follow_index", probe.subgroup_ids_follow_index},
                   {"workgroup_atomics", probe.workgroup_atomics},
                   {"integer_division", probe.integer_division},
                   {"keeps_subnormals", probe.keeps_subnormals},
                   {"self_test_ran", probe.self_test_ran},
                   {"look_back", traits.look_back},
                   {"lock_step", traits.lock_step}};
  json["reduce"] = reduce_paths(traits);
  json["scan"] = scan_paths(traits);
  json["sort"] = sort_paths(traits);
  json["histogram"] = histogram_paths(traits);
  json["adapters"] = Context::adapter_names();
  return json;
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 4> units{"bytes", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  auto value = static_cast<double>(bytes);
  while (value >= 1024 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  return std::format("{:.4g} {}", value, units[unit]);
}

void print_text(const Context& context) {
  const DeviceTraits& traits = context.traits();
  const ProbeReport& probe = context.probe_report();
  const auto line = [](std::string_view name, const std::string& text) {
    std::cout << std::format("{:<12}{}\n", name, text);
  };
  const auto yes = [](bool is_so) { return is_so ? "yes" : "no"; };
  line("adapter", std::format("{}{}", traits.adapter, traits.is_cpu ? " (software)" : ""));
  line("driver", context.driver());
  line("backend", context.backend());
  line("limits",
       std::format("{} threads and {} of memory a workgroup, {} workgroups a dimension", traits.max_workgroup_size,
                   bytes_text(traits.max_workgroup_bytes), traits.max_workgroups_per_dimension));
  line("", std::format("{} storage buffers a kernel, {} a binding, {} a buffer, offsets in multiples of {}",
                       traits.max_storage_buffers, bytes_text(traits.max_binding_bytes),
                       bytes_text(traits.max_buffer_bytes), traits.offset_alignment));
  line("features", std::format("subgroups: {}; f16: {}; timestamps: {}",
                               !traits.subgroups ? std::string("no")
                               : traits.subgroup_min_size == traits.subgroup_max_size
                                   ? std::format("of {}", traits.subgroup_max_size)
                                   : std::format("of {} to {}", traits.subgroup_min_size, traits.subgroup_max_size),
                               yes(traits.f16), yes(traits.timestamps)));
  if (probe.subgroup_size != 0) {
    line("probe",
         std::format("subgroups of {} threads, ballots see {}; threads are numbered {}", probe.subgroup_size,
                     probe.ballot_width,
                     probe.subgroup_ids_follow_index ? "subgroup by subgroup" : "in an order of the device's own"));
  } else {
    line("probe", "no subgroups were tried");
  }
  line("", std::format("atomics in workgroup memory {}, integer division {}, subnormal floats are {}",
                       probe.workgroup_atomics ? "count right" : "COUNT WRONG",
                       probe.integer_division ? "is right" : "IS WRONG",
                       probe.keeps_subnormals ? "kept in arithmetic" : "flushed to zero in arithmetic"));
  line("", self_test_text(context));
  for (const auto& [primitive, paths] : {std::pair{"reduce", reduce_paths(traits)},
                                         {"scan", scan_paths(traits)},
                                         {"sort", sort_paths(traits)},
                                         {"histogram", histogram_paths(traits)}}) {
    std::string_view head = primitive;
    for (const std::string& path : paths) line(std::exchange(head, ""), path);
  }
  std::string_view name = "adapters";
  for (const std::string& adapter : Context::adapter_names()) line(std::exchange(name, ""), adapter);
}

Outcome run_info(Program& program, const InfoOptions& options) {
  const auto context = open_context(program.global);
  if (!context) return std::unexpected(context.error());
  if (options.json) {
    std::cout << as_json(**context).dump(2) << '\n';
  } else {
    print_text(**context);
  }
  return {};
}

}  // namespace

void add_info(Program& program) {
  auto options = std::make_shared<InfoOptions>();
  CLI::App& command =
      program.add(program.app, "info", "Show the device: limits, features, probe results, chosen paths",
                  "  upsweep info\n  upsweep info --adapter llvmpipe --limits minimum --json", options, run_info);
  command.add_flag("--json", options->json, "Print JSON");
}

}  // namespace upsweep::cli
