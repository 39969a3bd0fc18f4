// SPDX-License-Identifier: Apache-2.0
// upsweep explain histogram.
#include <algorithm>
#include <array>
#include <format>

#include "explain.h"
#include "upsweep/histogram.h"

namespace upsweep::cli {
namespace {

struct ExplainHistogramOptions : ExplainOptions {
  std::uint32_t bins = 256;
  std::vector<double> range{0, 10};
  bool integers = false;
  std::string weights = "none";
  std::uint32_t channels = 1;
  bool accumulate = false;
  std::string path = "automatic";
};

// The digits of sample_items(), packed.
std::vector<std::byte> sample_bytes(SampleType type, std::uint64_t count) {
  const ElementType wide = type == SampleType::i32   ? ElementType::i32()
                           : type == SampleType::f16 ? ElementType::f16()
                           : type == SampleType::f32 ? ElementType::f32()
                                                     : ElementType::u32();
  std::vector<std::byte> items = sample_items(wide, count);
  const std::size_t bytes = bytes_of(type);
  if (bytes == wide.size_bytes) return items;
  std::vector<std::byte> packed;
  packed.reserve(count * bytes);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t b = 0; b < bytes; ++b) packed.push_back(items[i * wide.size_bytes + b]);
  }
  return packed;
}

Outcome run_explain_histogram(Program& program, const ExplainHistogramOptions& options) {
  const auto name = narrow_type_name("--type", options.type);
  if (!name) return std::unexpected(name.error());
  const auto type = sample_type_from_name(*name);
  if (!type) return refuse(std::format("--type {}: {}", options.type, type.error().message));
  const std::string weights = type_name(options.weights);
  const auto count = parse_count(options.items);
  if (!count) return std::unexpected(count.error());
  const HistogramShape shape{.item_count = options.count(*count),
                             .sample = *type,
                             .bins = options.integers
                                         ? HistogramBins::integers(options.bins)
                                         : HistogramBins::even(options.bins, options.range[0], options.range[1]),
                             .channels = options.channels,
                             .weights = weights == "u32"   ? HistogramWeights::words
                                        : weights == "f32" ? HistogramWeights::floats
                                                           : HistogramWeights::none,
                             .accumulate = options.accumulate};
  const auto device =
      open_explained(program, options, std::max<std::uint64_t>(*count * options.channels, options.bins));
  if (!device) return std::unexpected(device.error());
  HistogramTuning tuning = select_histogram_tuning(shape, device->traits);
  for (const HistogramPath path : {HistogramPath::registers, HistogramPath::workgroup, HistogramPath::cache}) {
    if (options.path == to_string(path)) tuning.path = path;
  }
  const auto plan = plan_histogram(shape, device->traits, tuning);
  if (!plan) return failed(plan.error());
  if (!options.dump) return explain(options, *device, *plan, {});
  const ElementType weight = weights == "f32" ? ElementType::f32() : ElementType::u32();
  // Narrow samples are shown as the words that they are packed in.
  const ElementType shown = *type == SampleType::f32   ? ElementType::f32()
                            : *type == SampleType::f16 ? ElementType::f16()
                            : *type == SampleType::i32 ? ElementType::i32()
                                                       : ElementType::u32();
  return explain(options, *device, *plan,
                 {{"input", shown, sample_bytes(*type, *count * options.channels)},
                  {"weights", weight, sample_items(weight, *count)},
                  words_argument("item_count", {static_cast<std::uint32_t>(*count)}),
                  {"output", weight}});
}

}  // namespace

void add_explain_histogram(Program& program, CLI::App& explain) {
  auto options = std::make_shared<ExplainHistogramOptions>();
  CLI::App& command = program.add(explain, "histogram", "Explain a histogram",
                                  "  upsweep explain histogram --bins 256 --range 0 1 --items 2^26\n"
                                  "  upsweep explain histogram --bins 256 --integers --type u1 --items 1e6\n"
                                  "  upsweep explain histogram --bins 1000000 --items 1e6 --traits minimum --wgsl\n"
                                  "  upsweep explain histogram --bins 10 --items 100 --weights f32 --dump",
                                  options, run_explain_histogram);
  add_items(command, *options);
  command.add_option("--type", options->type, "Samples: u1, u2, u4, i4, f2 or f4; or u16, u32, i32, f16, f32")
      ->capture_default_str()
      ->type_name("TYPE");
  command.add_option("--bins", options->bins, "Bins")->capture_default_str()->transform(count_text())->type_name("N");
  command.add_option("--range", options->range, "Range of the bins")
      ->expected(2)
      ->capture_default_str()
      ->type_name("LO HI");
  command.add_flag("--integers", options->integers, "Bins of one integer each, from 0");
  command.add_option("--weights", options->weights, "none, u32 or f32; or NumPy's u4, f4")
      ->check(CLI::IsMember({"none", "u32", "f32", "u4", "f4"}))
      ->capture_default_str();
  command.add_option("--channels", options->channels, "Samples of an item")->check(CLI::Range(1, 4))->type_name("C");
  command.add_flag("--accumulate", options->accumulate, "Add to what the output holds");
  command.add_option("--path", options->path, "automatic, registers, workgroup or cache")
      ->check(CLI::IsMember({"automatic", "registers", "workgroup", "cache"}))
      ->capture_default_str();
  command.add_flag("--device-count", options->device_count, "The count of items is read on the device");
  add_view_options(command, *options);
}

}  // namespace upsweep::cli
