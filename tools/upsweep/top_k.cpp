// SPDX-License-Identifier: Apache-2.0
// upsweep topk: the largest or smallest items of a .npy file, with what belongs to them.
#include "upsweep/top_k.h"

#include <algorithm>
#include <chrono>
#include <format>

#include "fold.h"
#include "json_result.h"
#include "kept_items.h"
#include "sort_files.h"

namespace upsweep::cli {
namespace {

struct TopKOptions {
  std::string file;
  std::string count;
  std::string output;
  std::string indices_output;
  std::string values;
  std::string values_output;
  bool smallest = false;
  bool input_order = false;
  bool json = false;
};

Outcome run_top_k(Program& program, const TopKOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  if (options.output.empty() && options.indices_output.empty() && options.values_output.empty()) {
    return refuse("topk needs --output, --indices-out or --values-out");
  }
  const auto wanted = parse_count(options.count);
  if (!wanted) return std::unexpected(wanted.error());
  auto keys = KeyFile::open(options.file);
  if (!keys) return std::unexpected(keys.error());
  std::optional<ValueFile> values;
  if (!options.values.empty()) {
    auto opened = ValueFile::open(options.values, keys->array());
    if (!opened) return std::unexpected(opened.error());
    values = std::move(*opened);
  }
  if (const auto ok = check_item_count(keys->array()); !ok) return ok;
  Outputs outputs;
  if (const auto ok = outputs.open_if_named("--output", options.output); !ok) return ok;
  if (const auto ok = outputs.open_if_named("--indices-out", options.indices_output); !ok) return ok;
  if (const auto ok = outputs.open_if_named("--values-out", options.values_output); !ok) return ok;
  warn_of_trailing_bytes(keys->array());
  if (values) warn_of_trailing_bytes(values->array());

  const auto context = open_context(program.global);
  if (!context) return std::unexpected(context.error());
  const std::uint64_t count = std::min(*wanted, keys->count());
  const SortShape sort = keys->shape();
  TopKShape shape{.item_count = sort.item_count,
                  .k = Count::on_host(count),
                  .key = sort.key,
                  .key_is_f64 = sort.key_is_f64,
                  .largest = !options.smallest,
                  .order = options.input_order ? TopKOrder::input_order : TopKOrder::sorted,
                  .write_keys = !options.output.empty(),
                  .write_indices = !options.indices_output.empty()};
  if (values) {
    shape.value = values->type();
    shape.write_indices = shape.write_indices || !shape.value;
  }
  const auto plan = plan_top_k(shape, (*context)->traits());
  if (!plan) {
    auto failure = plan_failed(plan.error(), keys->array());
    if (plan.error().kind == ErrorKind::unsupported) {
      failure.error().message += " Search parts of it, or see the limits of other adapters: `upsweep info` lists them.";
    }
    return failure;
  }
  auto run = ArrayRun::create(**context, *plan, keys->array().name());
  if (!run) return std::unexpected(run.error());
  Progress progress("topk", keys->bytes() + (shape.value ? values->bytes() : 0));
  if (const auto ok = keys->upload(*run, progress); !ok) return ok;
  if (shape.value) {
    if (const auto ok = values->upload(*run, progress); !ok) return ok;
  }
  if (const Status ok = run->run(); !ok) return failed(ok.error());
  if (const auto ok = check_device(**context); !ok) return ok;
  if (ArrayFile* output = outputs.find("--output"); output != nullptr) {
    if (const auto ok = keys->write(*run, "top_keys", count, *output); !ok) return ok;
  }
  if (ArrayFile* output = outputs.find("--indices-out"); output != nullptr) {
    if (const auto ok = write_indices(*run, "indices", count, *output); !ok) return ok;
  }
  if (ArrayFile* output = outputs.find("--values-out"); output != nullptr) {
    if (const auto ok = values->write(*run, "top_values", count, *output); !ok) return ok;
  }
  if (const auto ok = outputs.commit(); !ok) return ok;
  if (options.json) {
    print_json({{"items", keys->count()}, {"k", count}, {"dtype", npy::dtype_name(keys->array().dtype())}}, **context,
               start);
  }
  return {};
}

constexpr const char* top_k_examples = R"(  upsweep topk -k 100 scores.npy -o best.npy --indices-out where.npy
  upsweep topk -k 1000 --smallest distances.npy --values points.npy --values-out nearest_points.npy
Keys: u1 to u8, i1 to i8, b1, f2, f4, f8, as one flat array; the result is flat. FILE - reads standard input.
The K largest, the largest first, or with --smallest the smallest first, as the beginning of a stable sort: NaN is the
greatest and equals NaN, -0 equals +0, of equal keys the first ones win. Where there are fewer than K, all of them.
--input-order leaves the result as it stands in the file. Indices are i8. Values are any of these types: one a key, or a
row of several dimensions a key, as an array of shape (n, 3) beside n keys.
All keys, values and results must fit into the device's memory and limits: `upsweep info` lists them.)";

}  // namespace

void add_top_k(Program& program) {
  auto options = std::make_shared<TopKOptions>();
  CLI::App& command = program.add(program.app, "topk", "Find the largest or smallest items of a .npy file",
                                  top_k_examples, options, run_top_k);
  program.reads(command.add_option("file", options->file, "Array of keys"))->required()->type_name("KEYS.npy");
  command.add_option("-k", options->count, "How many, as 100, 1e4 or 2^20")
      ->required()
      ->transform(count_text())
      ->type_name("K");
  program.writes(command.add_option("-o,--output", options->output, "File for the keys of the result"))
      ->type_name("OUT.npy");
  program.writes(command.add_option("--indices-out", options->indices_output, "File for their places in the input"))
      ->type_name("INDICES.npy");
  auto* values =
      program.reads(command.add_option("--values", options->values, "Array of values that belong to the keys"));
  auto* values_output =
      program.writes(command.add_option("--values-out", options->values_output, "File for those of the result"));
  values->type_name("V.npy")->needs(values_output);
  values_output->type_name("W.npy")->needs(values);
  auto* largest = command.add_flag("--largest", "The largest; the default");
  command.add_flag("--smallest", options->smallest, "The smallest")->excludes(largest);
  command.add_flag("--input-order", options->input_order, "Leave the result as it stands in the input");
  program.prints(command.add_flag("--json", options->json, "Print counts, type and time as JSON"));
}

}  // namespace upsweep::cli
