// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/bench.h"

#include <algorithm>
#include <array>
#include <bit>
#include <format>
#include <iterator>
#include <optional>
#include <ostream>
#include <span>

#include "benchmarking/bench_families.h"
#include "benchmarking/session.h"
#include "output_file.h"

namespace upsweep::bench {
namespace {

constexpr std::uint64_t most_countable_items = 0xfffffffe;

std::vector<std::uint64_t> default_items(const BenchOptions& options, const DeviceTraits& traits) {
  if (options.quick) {
    const std::uint64_t wanted = traits.is_cpu ? 1ull << 20 : 1ull << 26;
    return {std::min(wanted, std::bit_floor(std::min(traits.max_binding_bytes, traits.max_buffer_bytes) / 4))};
  }
  const std::uint32_t highest = traits.is_cpu ? 24 : 28;
  std::vector<std::uint64_t> items;
  const std::uint32_t step = options.ladder ? 4 : 2;
  for (std::uint32_t power = options.ladder ? highest - 2 * step : 10; power <= highest; power += step) {
    if ((4ull << power) <= traits.max_buffer_bytes) items.push_back(1ull << power);
  }
  return items;
}

constexpr std::string_view spmv_name = "spmv";

struct Family {
  std::string_view name;
  Result<LibraryBenches> (*benches)(const BenchRequest&);
  Result<Ladders> (*ladders)(const BenchRequest&);  // null: it has none
};
// One line a primitive.
constexpr std::array families{
    Family{"reduce", reduce_benches, reduce_ladders},
    Family{"scan", scan_benches, scan_ladders},
    Family{"select", select_benches, nullptr},
    Family{"unique", unique_benches, nullptr},
    Family{"run_length", run_length_benches, nullptr},
    Family{"reduce_by_key", reduce_by_key_benches, nullptr},
    Family{"sort", sort_benches, sort_ladders},
    Family{"histogram", histogram_benches, histogram_ladders},
    Family{"merge_sort", merge_sort_benches, nullptr},
    Family{"search", search_benches, nullptr},
    Family{"top_k", top_k_benches, nullptr},
    Family{spmv_name, spmv_benches, spmv_ladders},
    Family{"conjugate_gradient", conjugate_gradient_benches, nullptr},
    Family{"pagerank", pagerank_benches, nullptr},
    Family{"csr_statistics", csr_statistics_benches, nullptr},
    Family{"coo_to_csr", coo_to_csr_benches, nullptr},
};

struct Chosen {
  LibraryBenches benches;
  Ladders ladders;
  std::vector<std::uint64_t> asked_items;
  std::vector<std::uint64_t> usual_items;

  [[nodiscard]] std::vector<std::uint64_t> items_of(const LibraryBench& bench, const DeviceTraits& traits) const {
    return bench.sizes(asked_items, usual_items, traits);
  }
  [[nodiscard]] std::vector<std::uint64_t> word_counts(const DeviceTraits& traits) const {
    std::vector<std::uint64_t> words;
    const auto add = [&](const LibraryBench& bench) {
      for (const std::uint64_t item_count : items_of(bench, traits)) words.push_back(bench.words_of(item_count));
    };
    for (const auto& bench : benches) add(*bench);
    for (const auto& ladder : ladders) add(ladder->library());
    return words;
  }
};

template <typename Made>
void append(std::vector<Made>& all, std::vector<Made>&& made) {
  all.insert(all.end(), std::make_move_iterator(made.begin()), std::make_move_iterator(made.end()));
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

Result<Chosen> read_options(const BenchOptions& options, const DeviceTraits& traits) {
  const bool ladder = options.ladder || options.quick;
  const std::vector<std::string> known = ladder ? ladder_names() : bench_names();
  for (const std::string& name : options.names) {
    if (std::ranges::contains(known, name)) continue;
    return refuse(
        std::format("There is no {} of {}; there are: {}.", ladder ? "ladder" : "benchmark", name, listed(known)));
  }
  if (options.samples == 0) return refuse("A benchmark needs at least one sample.");
  BenchRequest request{.operation = options.operation,
                       .types = {},
                       .tuning = options.tuning,
                       .matrices = options.matrices,
                       .given_matrices = options.given_matrices,
                       .formats = options.formats};
  const bool has_matrices = !options.matrices.empty() || !options.given_matrices.empty() || !options.formats.empty();
  for (const std::string& name : options.types) {
    const auto type = name == byte_type().name ? byte_type() : element_type_from_name(name);
    if (!type) return std::unexpected(type.error());
    request.types.push_back(*type);
  }
  Chosen chosen;
  std::optional<Error> refused;
  for (const Family& family : families) {
    const bool is_named = std::ranges::contains(options.names, family.name);
    if (!options.names.empty() && !is_named) continue;
    if (ladder && family.ladders == nullptr) continue;
    Status ok;
    if (has_matrices && family.name != spmv_name) {
      ok = refuse(std::format("{} takes no matrices and formats.", family.name));
    } else if (ladder) {
      auto made = family.ladders(request);
      if (made) append(chosen.ladders, std::move(*made));
      if (!made) ok = std::unexpected(made.error());
    } else {
      auto made = family.benches(request);
      if (made) append(chosen.benches, std::move(*made));
      if (!made) ok = std::unexpected(made.error());
    }
    // Who asks for all of them gets those that have the operation and the types.
    if (!ok && is_named) return std::unexpected(ok.error());
    if (!ok && !refused) refused = ok.error();
  }
  if (chosen.benches.empty() && chosen.ladders.empty()) return std::unexpected(*refused);
  chosen.asked_items = options.items;
  chosen.usual_items = default_items(options, traits);
  for (const std::uint64_t item_count : chosen.asked_items) {
    if (item_count > most_countable_items) {
      return refuse(std::format("{} items are more than a primitive takes ({}).", item_count, most_countable_items));
    }
  }
  return chosen;
}

// Opened before anything is measured, so that a path that cannot be written fails at once; nothing without a path.
Result<std::optional<npy::OutputFile>> open_report(const std::string& path) {
  if (path.empty()) return std::nullopt;
  auto file = npy::OutputFile::create(path);
  if (!file) return refuse(std::format("{} cannot be written.", path));
  return std::move(*file);
}

}  // namespace

std::vector<std::string> bench_names() {
  std::vector<std::string> names;
  names.reserve(families.size());
  for (const Family& family : families) names.emplace_back(family.name);
  return names;
}

std::vector<std::string> ladder_names() {
  std::vector<std::string> names;
  for (const Family& family : families) {
    if (family.ladders != nullptr) names.emplace_back(family.name);
  }
  return names;
}

Status check_options(const BenchOptions& options) {
  const auto chosen = read_options(options, DeviceTraits::webgpu_minimum());
  if (!chosen) return std::unexpected(chosen.error());
  return {};
}

Status run_bench(Context& context, const BenchOptions& options, std::ostream& table, std::ostream& progress) {
  const auto chosen = read_options(options, context.traits());
  if (!chosen) return std::unexpected(chosen.error());
  auto json = open_report(options.json_path);
  if (!json) return std::unexpected(json.error());
  const auto session = Session::open(context, options, chosen->word_counts(context.traits()), progress);
  if (!session) return std::unexpected(session.error());

  Report& report = (*session)->report();
  print_header(table, report);
  if (!chosen->ladders.empty()) print_ladder_columns(table);
  if (!chosen->benches.empty()) print_size_columns(table);
  for (const auto& ladder : chosen->ladders) {
    if (const Status ok = run_ladder(**session, *ladder, chosen->items_of(ladder->library(), context.traits()), table);
        !ok)
      return ok;
  }
  for (const auto& bench : chosen->benches) {
    if (const Status ok = run_sizes(**session, *bench, chosen->items_of(*bench, context.traits())); !ok) return ok;
  }
  if (!chosen->benches.empty()) print_sizes(table, report);
  print_pipelines(table, report);
  table.flush();
  if (*json) {
    const std::string text = to_json(report);
    if (!(*json)->write(std::as_bytes(std::span(text))) || !(*json)->commit()) {
      return refuse(std::format("{} could not be written.", options.json_path));
    }
  }

  const auto is_wrong = [](const Measurement& row) { return row.call.has_value() && !row.correct; };
  if (const auto wrong = std::ranges::count_if(report.measurements, is_wrong); wrong != 0) {
    return fail(ErrorKind::internal,
                std::format("{} of {} results were wrong; the table marks them.", wrong, report.measurements.size()));
  }
  return {};
}

}  // namespace upsweep::bench
