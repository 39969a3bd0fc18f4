// SPDX-License-Identifier: Apache-2.0
// upsweep explain reduce.
#include <format>

#include "explain.h"
#include "fold.h"
#include "upsweep/reduce.h"

namespace upsweep::cli {
namespace {

struct ExplainReduceOptions : ExplainOptions {
  std::string op = "sum";
  std::string transform;
  std::string rows;
  std::string segments;
  bool multi_pass = false;
};

Outcome run_explain_reduce(Program& program, const ExplainReduceOptions& options) {
  const auto op = operator_from_name(options.op);
  if (!op) return failed(op.error());
  const auto type = read_type("--type", options.type);
  if (!type) return std::unexpected(type.error());
  const auto item_count = parse_count(options.items);
  if (!item_count) return std::unexpected(item_count.error());

  ReduceShape shape{.input = *type, .combine = *op};
  if (!options.transform.empty()) shape.transform = Transform::of(options.transform);
  std::uint64_t total = *item_count;
  std::uint64_t segment_count = 1;
  if (!options.rows.empty()) {
    const auto rows = parse_row_count(options.rows, *item_count);
    if (!rows) return std::unexpected(rows.error());
    total = *rows * *item_count;
    segment_count = *rows;
    shape.segments = Segmentation::rows(options.count(*rows), static_cast<std::uint32_t>(*item_count));
  } else if (!options.segments.empty()) {
    const auto segments = parse_count(options.segments);
    if (!segments) return std::unexpected(segments.error());
    segment_count = *segments;
    shape.item_count = Count::on_host(total);
    shape.segments = Segmentation::offsets(options.count(segment_count));
  } else {
    shape.item_count = options.count(total);
  }

  const auto device = open_explained(program, options, std::max(total, segment_count));
  if (!device) return std::unexpected(device.error());
  ReduceTuning tuning = select_reduce_tuning(shape, device->traits);
  if (options.multi_pass) tuning.single_pass = false;
  const std::vector<UserText> texts{{"--transform", options.transform, "transform expression"}};
  const auto plan = plan_reduce(shape, device->traits, tuning);
  if (!plan) return failed(plan.error(), texts);
  if (!options.dump) return explain(options, *device, *plan, {}, texts);

  std::vector<std::uint32_t> begins;
  std::vector<std::uint32_t> ends;
  for (std::uint64_t s = 0; s < segment_count; ++s) {
    begins.push_back(static_cast<std::uint32_t>(s * total / segment_count));
    ends.push_back(static_cast<std::uint32_t>((s + 1) * total / segment_count));
  }
  const std::uint64_t counted = shape.segments.kind == Segmentation::Kind::whole ? total : segment_count;
  const ElementType folded = folded_type(*op, *type);
  return explain(options, *device, *plan,
                 {{"input", *type, sample_items(*type, total)},
                  words_argument("item_count", {static_cast<std::uint32_t>(counted)}),
                  words_argument("segment_begins", begins),
                  words_argument("segment_ends", ends),
                  {"output", folded.is_float() ? *type : folded}},
                 texts);
}

}  // namespace

void add_explain_reduce(Program& program, CLI::App& explain) {
  auto options = std::make_shared<ExplainReduceOptions>();
  CLI::App& command = program.add(explain, "reduce", "Explain a reduction",
                                  "  upsweep explain reduce --op sum --type f32 --items 2^24\n"
                                  "  upsweep explain reduce --op argmin --items 1000 --rows 5000 --limits minimum\n"
                                  "  upsweep explain reduce --items 40000 --type u32 --dump\n"
                                  "  upsweep explain reduce --items 1e6 --traits minimum --wgsl",
                                  options, run_explain_reduce);
  add_item_options(command, *options, "Items (of each row, with --rows), as 1000000, 1e6 or 2^20");
  command.add_option("--op", options->op, operator_names)->capture_default_str()->type_name("OP");
  command.add_option("--transform", options->transform, "WGSL expression of the item x and its index i")
      ->type_name("EXPR");
  auto* rows =
      command.add_option("--rows", options->rows, "Reduce R rows of N items")->transform(count_text())->type_name("R");
  command.add_option("--segments", options->segments, "Reduce S segments of N items, by offsets")
      ->transform(count_text())
      ->type_name("S")
      ->excludes(rows);
  command.add_flag("--device-count", options->device_count,
                   "The count of items, rows or segments is read on the device");
  command.add_flag("--multi-pass", options->multi_pass,
                   "Without the plans in which the last workgroup to arrive folds the rest");
  add_view_options(command, *options);
}

}  // namespace upsweep::cli
