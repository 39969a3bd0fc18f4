// SPDX-License-Identifier: Apache-2.0
// upsweep explain for the primitives that are scans underneath: scan, select, partition, unique, rle, reduce_by_key.
#include <format>

#include "explain.h"
#include "fold.h"
#include "upsweep/partition.h"
#include "upsweep/runs.h"
#include "upsweep/scan.h"
#include "upsweep/select.h"

namespace upsweep::cli {
namespace {

struct ExplainScanOptions : ExplainOptions {
  std::string path = "automatic";
  bool run_to_run = false;
  // scan
  std::string op = "sum";
  std::string transform;
  std::string rows;
  bool is_exclusive = false;
  bool reverse = false;
  bool total = false;
  bool in_place = false;
  // select and partition
  std::string where;
  std::string dispatch_threads;
  std::string second;
  // reduce_by_key
  std::string keys = "u32";
  // select, unique and rle
  bool indices = false;
  bool only_repeated = false;
};

// Runs of three equal items, so that there is something to find.
constexpr std::uint64_t sample_run_length = 3;

ScanPath path_of(const ExplainScanOptions& options) {
  if (options.path == "two-pass") return ScanPath::two_pass;
  return options.path == "single-pass" ? ScanPath::single_pass : ScanPath::automatic;
}

struct Subject {
  ElementType type;
  std::uint64_t count = 0;
};
Expected<Subject> parse_subject(const ExplainScanOptions& options) {
  const auto type = read_type("--type", options.type);
  if (!type) return std::unexpected(type.error());
  const auto count = parse_count(options.items);
  if (!count) return std::unexpected(count.error());
  return Subject{*type, *count};
}

DumpArgument count_argument(std::uint64_t count) {
  return words_argument("item_count", {static_cast<std::uint32_t>(count)});
}

// Plans the shape for the device that is explained, and shows the plan; arguments() makes what --dump needs.
template <typename Shape, typename MakeArguments>
Outcome explain_shape(const Program& program, const ExplainScanOptions& options, std::uint64_t most_count,
                      const Shape& shape,
                      Result<Plan> (*plan_shape)(const Shape&, const DeviceTraits&, std::optional<ScanTuning>,
                                                 ScanOffsets),
                      const MakeArguments& arguments, const std::vector<UserText>& texts = {}) {
  const auto device = open_explained(program, options, most_count);
  if (!device) return std::unexpected(device.error());
  ScanTuning tuning = select_scan_tuning(shape, device->traits);
  tuning.path = path_of(options);
  const auto plan = plan_shape(shape, device->traits, tuning, {});
  if (!plan) return failed(plan.error(), texts);
  return explain(options, *device, *plan, options.dump ? arguments() : std::vector<DumpArgument>{}, texts);
}

Outcome run_explain_scan(Program& program, const ExplainScanOptions& options) {
  const auto op = operator_from_name(options.op);
  if (!op) return failed(op.error());
  const auto subject = parse_subject(options);
  if (!subject) return std::unexpected(subject.error());
  const auto& [type, row_length] = *subject;

  ScanShape shape{.input = type,
                  .combine = *op,
                  .kind = options.is_exclusive ? ScanKind::exclusive : ScanKind::inclusive,
                  .reverse = options.reverse,
                  .write_total = options.total,
                  .in_place = options.in_place,
                  .determinism = options.run_to_run ? Determinism::run_to_run : Determinism::any};
  if (!options.transform.empty()) shape.transform = Transform::of(options.transform);
  std::uint64_t total = row_length;
  std::uint64_t counted = total;
  if (options.rows.empty()) {
    shape.item_count = options.count(total);
  } else {
    const auto rows = parse_row_count(options.rows, row_length);
    if (!rows) return std::unexpected(rows.error());
    counted = *rows;
    total = *rows * row_length;
    shape.segments = ScanSegments::rows(options.count(*rows), static_cast<std::uint32_t>(row_length));
  }
  const auto arguments = [&] {
    const ElementType folded = folded_type(*op, type);
    const ElementType stored = folded.is_float() ? type : folded;
    DumpArgument output{"output", stored};
    // The input of a scan in place is its output.
    if (options.in_place) output.bytes = sample_items(type, total);
    return std::vector<DumpArgument>{
        {"input", type, sample_items(type, total)}, count_argument(counted), output, {"total", stored}};
  };
  return explain_shape(program, options, std::max(total, counted), shape, plan_scan, arguments,
                       {{"--transform", options.transform, "transform expression"}});
}

Outcome run_explain_select(Program& program, const ExplainScanOptions& options) {
  const auto subject = parse_subject(options);
  if (!subject) return std::unexpected(subject.error());
  const auto& [type, count] = *subject;
  SelectShape shape{.item_count = options.count(count),
                    .input = type,
                    .predicate = Predicate::of(options.where),
                    .write_indices = options.indices};
  if (!options.dispatch_threads.empty()) {
    const auto threads = parse_count(options.dispatch_threads);
    if (!threads) return std::unexpected(threads.error());
    constexpr std::uint64_t most = 0xffffffff;
    if (*threads > most) return refuse(std::format("--dispatch-threads {}: at most {}", *threads, most));
    shape.dispatch_threads = static_cast<std::uint32_t>(*threads);
  }
  const auto arguments = [&] {
    return std::vector<DumpArgument>{{"input", type, sample_items(type, count)},
                                     count_argument(count),
                                     {"output", type},
                                     {"indices", ElementType::u32()}};
  };
  return explain_shape(program, options, count, shape, plan_select, arguments,
                       {{"--where", options.where, "predicate expression"}});
}

Outcome run_explain_partition(Program& program, const ExplainScanOptions& options) {
  const auto subject = parse_subject(options);
  if (!subject) return std::unexpected(subject.error());
  const auto& [type, count] = *subject;
  PartitionShape shape{.item_count = options.count(count), .input = type, .first = Predicate::of(options.where)};
  if (!options.second.empty()) shape.second = Predicate::of(options.second);
  const auto arguments = [&] {
    return std::vector<DumpArgument>{
        {"input", type, sample_items(type, count)}, count_argument(count), {"output", type}};
  };
  return explain_shape(program, options, count, shape, plan_partition, arguments,
                       {{"--where", options.where, "predicate expression"},
                        {"--second", options.second, "second predicate expression"}});
}

Outcome run_explain_unique(Program& program, const ExplainScanOptions& options) {
  const auto subject = parse_subject(options);
  if (!subject) return std::unexpected(subject.error());
  const auto& [type, count] = *subject;
  const UniqueShape shape{.item_count = options.count(count), .input = type, .write_indices = options.indices};
  const auto arguments = [&] {
    return std::vector<DumpArgument>{{"input", type, sample_items(type, count, sample_run_length)},
                                     count_argument(count),
                                     {"output", type},
                                     {"indices", ElementType::u32()}};
  };
  return explain_shape(program, options, count, shape, plan_unique, arguments);
}

Outcome run_explain_run_length(Program& program, const ExplainScanOptions& options) {
  const auto subject = parse_subject(options);
  if (!subject) return std::unexpected(subject.error());
  const auto& [type, count] = *subject;
  const RunLengthShape shape{.item_count = options.count(count),
                             .input = type,
                             .write_offsets = options.indices,
                             .only_repeated = options.only_repeated};
  const auto arguments = [&] {
    return std::vector<DumpArgument>{{"input", type, sample_items(type, count, sample_run_length)},
                                     count_argument(count),
                                     {"values", type},
                                     {"lengths", ElementType::u32()},
                                     {"offsets", ElementType::u32()}};
  };
  return explain_shape(program, options, count, shape, plan_run_length, arguments);
}

Outcome run_explain_reduce_by_key(Program& program, const ExplainScanOptions& options) {
  const auto op = operator_from_name(options.op);
  if (!op) return failed(op.error());
  const auto subject = parse_subject(options);
  if (!subject) return std::unexpected(subject.error());
  const auto& [type, count] = *subject;
  const auto key = read_type("--keys", options.keys);
  if (!key) return std::unexpected(key.error());
  const ReduceByKeyShape shape{.item_count = options.count(count),
                               .key = *key,
                               .input = type,
                               .combine = *op,
                               .determinism = options.run_to_run ? Determinism::run_to_run : Determinism::any};
  const auto arguments = [&] {
    const ElementType folded = folded_type(*op, type);
    return std::vector<DumpArgument>{{"keys", *key, sample_items(*key, count, sample_run_length)},
                                     {"input", type, sample_items(type, count)},
                                     count_argument(count),
                                     {"unique_keys", *key},
                                     {"output", folded.is_float() ? type : folded}};
  };
  return explain_shape(program, options, count, shape, plan_reduce_by_key, arguments);
}

void add_path_options(CLI::App& command, ExplainScanOptions& options) {
  command.add_flag("--device-count", options.device_count, "The count of items, or rows, is read on the device");
  command.add_option("--path", options.path, "How tiles learn of those before them")
      ->check(CLI::IsMember({"automatic", "two-pass", "single-pass"}))
      ->capture_default_str();
  add_view_options(command, options);
}

}  // namespace

void add_explain_scan(Program& program, CLI::App& explain) {
  auto options = std::make_shared<ExplainScanOptions>();
  CLI::App& command = program.add(explain, "scan", "Explain a scan",
                                  "  upsweep explain scan --op sum --type u32 --items 2^24\n"
                                  "  upsweep explain scan --exclusive --items 1000 --rows 5000 --path two-pass\n"
                                  "  upsweep explain scan --items 40000 --type u32 --path two-pass --dump\n"
                                  "  upsweep explain scan --items 1e6 --traits minimum --wgsl",
                                  options, run_explain_scan);
  add_item_options(command, *options, "Items (of each row, with --rows), as 1000000, 1e6 or 2^20");
  command.add_option("--op", options->op, operator_names)->capture_default_str()->type_name("OP");
  command.add_option("--transform", options->transform, "WGSL expression of the item x and its index i")
      ->type_name("EXPR");
  command.add_flag("--exclusive", options->is_exclusive, "A result is that of the items before it");
  command.add_flag("--reverse", options->reverse, "From the last item to the first");
  command.add_option("--rows", options->rows, "Scan R rows of N items")->transform(count_text())->type_name("R");
  command.add_flag("--total", options->total, "Write the result of all items, too");
  command.add_flag("--in-place", options->in_place, "Input and output are the same");
  command.add_flag("--run-to-run", options->run_to_run, "The same bits in every run");
  add_path_options(command, *options);
}

void add_explain_select(Program& program, CLI::App& explain) {
  auto options = std::make_shared<ExplainScanOptions>();
  CLI::App& command = program.add(explain, "select", "Explain a selection",
                                  "  upsweep explain select --where 'x > 0.5' --items 2^24\n"
                                  "  upsweep explain select --where 'x > 5u' --type u32 --items 1000 --indices --dump",
                                  options, run_explain_select);
  add_item_options(command, *options, items_description);
  command.add_option("--where", options->where, "WGSL expression of the item x and its index i")
      ->required()
      ->type_name("EXPR");
  command.add_flag("--indices", options->indices, "Write the items' indices, too");
  command
      .add_option("--dispatch-threads", options->dispatch_threads,
                  "Write the grid of an indirect dispatch, too, with workgroups of T threads")
      ->transform(count_text())
      ->type_name("T");
  add_path_options(command, *options);
}

void add_explain_partition(Program& program, CLI::App& explain) {
  auto options = std::make_shared<ExplainScanOptions>();
  CLI::App& command = program.add(explain, "partition", "Explain a partition",
                                  "  upsweep explain partition --where 'x > 0.5' --items 2^24\n"
                                  "  upsweep explain partition --where 'x < 3' --second 'x < 6' --items 20 --dump",
                                  options, run_explain_partition);
  add_item_options(command, *options, items_description);
  command.add_option("--where", options->where, "WGSL expression of the item x and its index i: what comes first")
      ->required()
      ->type_name("EXPR");
  command.add_option("--second", options->second, "The same of the rest, for three parts")->type_name("EXPR");
  add_path_options(command, *options);
}

void add_explain_reduce_by_key(Program& program, CLI::App& explain) {
  auto options = std::make_shared<ExplainScanOptions>();
  CLI::App& command = program.add(explain, "reduce_by_key", "Explain a reduction by key",
                                  "  upsweep explain reduce_by_key --op sum --type f32 --items 2^24\n"
                                  "  upsweep explain reduce_by_key --keys u64 --type u32 --items 20 --dump",
                                  options, run_explain_reduce_by_key);
  add_item_options(command, *options, items_description);
  command.add_option("--keys", options->keys, "Type of the keys; --type is that of the values")
      ->capture_default_str()
      ->type_name("TYPE");
  command.add_option("--op", options->op, operator_names)->capture_default_str()->type_name("OP");
  command.add_flag("--run-to-run", options->run_to_run, "The same bits in every run");
  add_path_options(command, *options);
}

void add_explain_unique(Program& program, CLI::App& explain) {
  auto options = std::make_shared<ExplainScanOptions>();
  CLI::App& command = program.add(explain, "unique", "Explain the removal of equal neighbours",
                                  "  upsweep explain unique --type u32 --items 2^24\n"
                                  "  upsweep explain unique --type u32 --items 1000 --indices --dump",
                                  options, run_explain_unique);
  add_item_options(command, *options, items_description);
  command.add_flag("--indices", options->indices, "Write where each run begins, too");
  add_path_options(command, *options);
}

void add_explain_run_length(Program& program, CLI::App& explain) {
  auto options = std::make_shared<ExplainScanOptions>();
  CLI::App& command = program.add(explain, "rle", "Explain run-length encoding",
                                  "  upsweep explain rle --type u32 --items 2^24\n"
                                  "  upsweep explain rle --type u32 --items 1000 --offsets --dump",
                                  options, run_explain_run_length);
  command.alias("run_length");
  add_item_options(command, *options, items_description);
  command.add_flag("--offsets", options->indices, "Write where each run begins, too");
  command.add_flag("--only-repeated", options->only_repeated, "Leave out runs of one item");
  add_path_options(command, *options);
}

}  // namespace upsweep::cli
