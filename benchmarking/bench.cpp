// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/bench.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <format>
#include <fstream>
#include <ostream>

#include "benchmarking/reduce_bench.h"
#include "benchmarking/session.h"

namespace upsweep::bench {
namespace {

constexpr std::uint64_t most_items = 0xfffffffe;

std::unexpected<Error> refuse(std::string message) { return fail(ErrorKind::invalid_request, std::move(message)); }

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

Result<ReduceBench> read_options(const BenchOptions& options, const DeviceTraits& traits) {
  const bool ladder = options.ladder || options.quick;
  const std::vector<std::string> known = bench_names();
  for (const std::string& name : options.names) {
    if (std::ranges::find(known, name) == known.end()) {
      return refuse(std::format("There is no benchmark of {}; there is reduce.", name));
    }
  }
  if (options.samples == 0) return refuse("A benchmark needs at least one sample.");
  ReduceBench bench;
  auto combine = operator_from_name(options.operation.empty() ? "sum" : options.operation);
  if (!combine) return std::unexpected(combine.error());
  bench.combine = std::move(*combine);
  if (ladder && bench.combine != BinaryOperator::sum()) {
    return refuse(std::format("The ladder shows sums, not {}.", options.operation));
  }
  std::vector<std::string> types = options.types;
  if (types.empty()) types = ladder ? std::vector<std::string>{"u32"} : std::vector<std::string>{"u32", "f32"};
  for (const std::string& name : types) {
    const auto type = element_type_from_name(name);
    if (!type) return std::unexpected(type.error());
    if (const auto checkable = RunningReference::create(bench.combine, *type); !checkable) {
      return std::unexpected(checkable.error());
    }
    if (ladder && *type == ElementType::i32()) return refuse("The ladder shows u32 and f32, not i32.");
    bench.types.push_back(*type);
  }
  bench.items = options.items.empty() ? default_items(options, traits) : options.items;
  for (const std::uint64_t item_count : bench.items) {
    if (item_count > most_items) {
      return refuse(std::format("{} items are more than a reduction takes ({}).", item_count, most_items));
    }
  }
  return bench;
}

// Opened before anything is measured, so that a path that cannot be written fails at once; put in place whole.
class JsonFile {
 public:
  explicit JsonFile(const std::string& path) : path_(path), new_path_(path + ".new") {
    if (!path_.empty()) file_.open(new_path_, std::ios::binary | std::ios::trunc);
  }
  JsonFile(const JsonFile&) = delete;
  JsonFile& operator=(const JsonFile&) = delete;
  ~JsonFile() {
    if (!file_.is_open()) return;
    file_.close();
    std::remove(new_path_.c_str());
  }
  [[nodiscard]] Status check() const {
    if (path_.empty() || file_.is_open()) return {};
    return refuse(std::format("{} cannot be written.", path_));
  }
  Status write(const std::string& text) {
    if (path_.empty()) return {};
    file_ << text;
    file_.close();
    if (file_.fail() || std::rename(new_path_.c_str(), path_.c_str()) != 0) {
      std::remove(new_path_.c_str());
      return refuse(std::format("{} could not be written.", path_));
    }
    return {};
  }

 private:
  std::string path_;
  std::string new_path_;
  std::ofstream file_;
};

}  // namespace

std::vector<std::string> bench_names() { return {"reduce"}; }

Status run_bench(Context& context, const BenchOptions& options, std::ostream& table, std::ostream& progress) {
  const auto bench = read_options(options, context.traits());
  if (!bench) return std::unexpected(bench.error());
  JsonFile json(options.json_path);
  if (const Status ok = json.check(); !ok) return ok;
  const auto session = Session::open(context, options, bench->items, progress);
  if (!session) return std::unexpected(session.error());

  Report& report = (*session)->report();
  print_header(table, report);
  if (options.ladder || options.quick) {
    if (const Status ok = run_reduce_ladder(**session, *bench, table); !ok) return ok;
  } else {
    if (const Status ok = run_reduce_sizes(**session, *bench); !ok) return ok;
    print_sizes(table, report);
  }
  print_pipelines(table, report);
  table.flush();
  if (const Status ok = json.write(to_json(report)); !ok) return ok;

  const auto is_wrong = [](const Measurement& row) { return row.call.has_value() && !row.correct; };
  if (const auto wrong = std::ranges::count_if(report.measurements, is_wrong); wrong != 0) {
    return fail(ErrorKind::internal,
                std::format("{} of {} results were wrong; the table marks them.", wrong, report.measurements.size()));
  }
  return {};
}

}  // namespace upsweep::bench
