// SPDX-License-Identifier: Apache-2.0
// upsweep explain topk.
#include "explain_keyed.h"
#include "upsweep/top_k.h"

namespace upsweep::cli {
namespace {

struct ExplainTopKOptions : KeyedExplainOptions {
  std::string k;
  bool smallest = false;
  bool input_order = false;
  bool threshold = false;
};

Outcome run_explain_top_k(Program& program, const ExplainTopKOptions& options) {
  TopKShape shape{.largest = !options.smallest,
                  .order = options.input_order ? TopKOrder::input_order : TopKOrder::sorted,
                  .write_keys = !options.no_keys,
                  .write_indices = options.indices,
                  .write_threshold = options.threshold};
  if (const auto ok = read_keyed_types(options, shape); !ok) return ok;
  const auto count = parse_count(options.items);
  if (!count) return std::unexpected(count.error());
  const auto k = parse_count(options.k);
  if (!k) return std::unexpected(k.error());
  shape.item_count = options.count(*count);
  shape.k = Count::on_host(*k);
  const auto device = open_explained(program, options, *count);
  if (!device) return std::unexpected(device.error());
  const auto plan = plan_top_k(shape, device->traits);
  if (!plan) return failed(plan.error());
  if (!options.dump) return explain(options, *device, *plan, {});

  const ElementType value = shape.value.value_or(ElementType::u32());
  return explain(options, *device, *plan,
                 {{"keys", shape.key, sample_items(shape.key, *count)},
                  {"values", value, sample_items(value, *count)},
                  words_argument("item_count", {static_cast<std::uint32_t>(*count)}),
                  {"top_keys", shape.key},
                  {"top_values", value},
                  {"indices", ElementType::u32()},
                  {"threshold", shape.key}});
}

}  // namespace

void add_explain_top_k(Program& program, CLI::App& explain) {
  auto options = std::make_shared<ExplainTopKOptions>();
  CLI::App& command = program.add(explain, "topk", "Explain a top-k",
                                  "  upsweep explain topk --items 2^24 -k 100 --type u32\n"
                                  "  upsweep explain topk --items 1e6 -k 5000 --type f32 --values u32 --smallest\n"
                                  "  upsweep explain topk --items 1e6 -k 500000 --no-keys --threshold\n"
                                  "  upsweep explain topk --items 50 -k 5 --type i32 --indices --dump",
                                  options, run_explain_top_k);
  command.alias("top_k");
  add_items(command, *options);
  command.add_option("-k", options->k, "How many are wanted")->required()->transform(count_text())->type_name("K");
  add_keyed_options(command, *options);
  command.add_flag("--smallest", options->smallest, "The smallest, not the largest");
  command.add_flag("--input-order", options->input_order, "Leave the result as it stands in the input");
  command.add_flag("--threshold", options->threshold, "Write the last key of the result");
  command.add_flag("--device-count", options->device_count, "The count of items is read on the device");
  add_view_options(command, *options);
}

}  // namespace upsweep::cli
