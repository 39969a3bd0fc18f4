// SPDX-License-Identifier: Apache-2.0
// upsweep explain sort and upsweep explain argsort.
#include "explain_keyed.h"
#include "upsweep/sort.h"

namespace upsweep::cli {
namespace {

struct ExplainSortOptions : KeyedExplainOptions {
  std::vector<std::uint32_t> bits;
  bool descending = false;
  bool in_place = false;
  std::string path = "automatic";
};

Outcome run_explain_sort(Program& program, const ExplainSortOptions& options) {
  SortShape shape{.descending = options.descending,
                  .write_keys = !options.no_keys,
                  .write_indices = options.indices,
                  .in_place = options.in_place};
  if (const auto ok = read_keyed_types(options, shape); !ok) return ok;
  const auto count = parse_count(options.items);
  if (!count) return std::unexpected(count.error());
  shape.item_count = options.count(*count);
  if (!options.bits.empty()) {
    shape.begin_bit = options.bits[0];
    shape.end_bit = options.bits[1];
  }
  const auto device = open_explained(program, options, *count);
  if (!device) return std::unexpected(device.error());
  SortTuning tuning = select_sort_tuning(shape, device->traits);
  if (options.path == "three-pass") tuning.path = SortPath::three_pass;
  if (options.path == "single-pass") tuning.path = SortPath::single_pass;
  const auto plan = plan_sort(shape, device->traits, tuning);
  if (!plan) return failed(plan.error());
  if (!options.dump) return explain(options, *device, *plan, {});

  const ElementType value = shape.value.value_or(ElementType::u32());
  const DumpArgument keys{"keys", shape.key, sample_items(shape.key, *count)};
  const DumpArgument values{"values", value, sample_items(value, *count)};
  DumpArgument sorted_keys{"sorted_keys", shape.key};
  DumpArgument sorted_values{"sorted_values", value};
  if (shape.in_place) {
    // The input is the output.
    sorted_keys.bytes = keys.bytes;
    sorted_values.bytes = values.bytes;
  }
  return explain(options, *device, *plan,
                 {keys,
                  values,
                  words_argument("item_count", {static_cast<std::uint32_t>(*count)}),
                  sorted_keys,
                  sorted_values,
                  {"indices", ElementType::u32()}});
}

void add_sort_options(CLI::App& command, ExplainSortOptions& options) {
  command.add_flag("--descending", options.descending, "The greatest first");
  command.add_option("--bits", options.bits, "Sort by these bits of the keys alone")
      ->expected(2)
      ->type_name("BEGIN END");
  command.add_option("--path", options.path, "automatic, three-pass or single-pass")
      ->check(CLI::IsMember({"automatic", "three-pass", "single-pass"}))
      ->capture_default_str();
  command.add_flag("--device-count", options.device_count, "The count of items is read on the device");
  add_view_options(command, options);
}

}  // namespace

void add_explain_argsort(Program& program, CLI::App& explain) {
  auto options = std::make_shared<ExplainSortOptions>();
  options->indices = true;
  options->no_keys = true;
  CLI::App& command = program.add(explain, "argsort", "Explain a sort of indices",
                                  "  upsweep explain argsort --items 2^24 --type f32\n"
                                  "  upsweep explain argsort --items 100 --descending --dump",
                                  options, run_explain_sort);
  add_items(command, *options);
  add_key_type(command, *options);
  add_sort_options(command, *options);
}

void add_explain_sort(Program& program, CLI::App& explain) {
  auto options = std::make_shared<ExplainSortOptions>();
  CLI::App& command = program.add(explain, "sort", "Explain a sort",
                                  "  upsweep explain sort --items 2^24 --type u32\n"
                                  "  upsweep explain sort --items 1e6 --type f32 --values u32 --descending\n"
                                  "  upsweep explain sort --items 1e6 --type u64 --bits 0 40 --path three-pass\n"
                                  "  upsweep explain sort --items 1e6 --indices --no-keys --traits minimum --wgsl\n"
                                  "  upsweep explain sort --items 5000 --type i32 --in-place --dump",
                                  options, run_explain_sort);
  add_items(command, *options);
  add_keyed_options(command, *options);
  command.add_flag("--in-place", options->in_place, "Input and output are one array");
  add_sort_options(command, *options);
}

}  // namespace upsweep::cli
