// SPDX-License-Identifier: Apache-2.0
// upsweep sort and upsweep argsort: the items of a .npy file in order, with what belongs to them.
#include "upsweep/sort.h"

#include <chrono>
#include <format>

#include "fold.h"
#include "json_result.h"
#include "kept_items.h"
#include "sort_files.h"

namespace upsweep::cli {
namespace {

struct SortOptions {
  std::string file;
  std::string output;
  std::string values;
  std::string values_output;
  std::vector<std::uint32_t> bits;
  bool descending = false;
  bool json = false;
};

std::unexpected<Failure> sort_plan_failed(const Error& error, const KeyFile& keys) {
  auto failure = plan_failed(error, keys.array());
  if (error.kind == ErrorKind::unsupported) {
    failure.error().message += " Sort parts of it, or see the limits of other adapters: `upsweep info` lists them.";
  }
  return failure;
}

void print_sorted(const Context& context, const npy::Array& array, std::chrono::steady_clock::time_point start) {
  print_json({{"items", array.item_count()}, {"dtype", npy::dtype_name(array.dtype())}}, context, start);
}

// Sorts on the device. `values` are null where none go there.
Expected<ArrayRun> run_on_device(Context& context, const SortShape& shape, const KeyFile& keys, const ValueFile* values,
                                 const std::string& command) {
  const auto plan = plan_sort(shape, context.traits());
  if (!plan) return sort_plan_failed(plan.error(), keys);
  auto run = ArrayRun::create(context, *plan, keys.array().name());
  if (!run) return run;
  Progress progress(command, keys.bytes() + (values != nullptr ? values->bytes() : 0));
  if (const auto ok = keys.upload(*run, progress); !ok) return std::unexpected(ok.error());
  if (values != nullptr) {
    if (const auto ok = values->upload(*run, progress); !ok) return std::unexpected(ok.error());
  }
  if (const Status ok = run->run(); !ok) return failed(ok.error());
  if (const auto ok = check_device(context); !ok) return std::unexpected(ok.error());
  return run;
}

SortShape shape_of(const KeyFile& keys, const SortOptions& options) {
  SortShape shape = keys.shape();
  shape.descending = options.descending;
  if (!options.bits.empty()) {
    shape.begin_bit = options.bits[0];
    shape.end_bit = options.bits[1];
  }
  return shape;
}

Outcome run_sort(Program& program, const SortOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  if (options.output.empty() && options.values_output.empty()) return refuse("sort needs --output or --values-out");
  auto keys = KeyFile::open(options.file);
  if (!keys) return std::unexpected(keys.error());
  std::optional<ValueFile> values;
  if (!options.values.empty()) {
    auto opened = ValueFile::open(options.values, keys->array());
    if (!opened) return std::unexpected(opened.error());
    values = std::move(*opened);
  }
  if (const auto ok = check_item_count(keys->array()); !ok) return ok;
  SortShape shape = shape_of(*keys, options);
  if (shape.begin_bit >= shape.end_bit || shape.end_bit > keys->bits()) {
    return refuse(std::format("--bits {} {}: BEGIN must be below END, and END at most {} for {}", shape.begin_bit,
                              shape.end_bit, keys->bits(), npy::dtype_name(keys->array().dtype())));
  }
  Outputs outputs;
  if (const auto ok = outputs.open_if_named("--output", options.output); !ok) return ok;
  if (const auto ok = outputs.open_if_named("--values-out", options.values_output); !ok) return ok;
  warn_of_trailing_bytes(keys->array());
  if (values) warn_of_trailing_bytes(values->array());

  const auto context = open_context(program.global);
  if (!context) return std::unexpected(context.error());
  ArrayFile* output = outputs.find("--output");
  shape.write_keys = output != nullptr;
  if (values) {
    shape.value = values->type();
    shape.write_indices = !shape.value;
  }
  auto run = run_on_device(**context, shape, *keys, shape.value ? &*values : nullptr, "sort");
  if (!run) return std::unexpected(run.error());
  if (output != nullptr) {
    if (const auto ok = keys->write(*run, "sorted_keys", keys->count(), *output); !ok) return ok;
  }
  if (values) {
    ArrayFile& values_output = *outputs.find("--values-out");
    if (const auto ok = values->write(*run, "sorted_values", keys->count(), values_output); !ok) return ok;
  }
  if (const auto ok = outputs.commit(); !ok) return ok;
  if (options.json) print_sorted(**context, keys->array(), start);
  return {};
}

Outcome run_argsort(Program& program, const SortOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  auto keys = KeyFile::open(options.file);
  if (!keys) return std::unexpected(keys.error());
  if (const auto ok = check_item_count(keys->array()); !ok) return ok;
  Outputs outputs;
  if (const auto ok = outputs.open("--output", options.output); !ok) return ok;
  warn_of_trailing_bytes(keys->array());

  const auto context = open_context(program.global);
  if (!context) return std::unexpected(context.error());
  SortShape shape = shape_of(*keys, options);
  shape.write_keys = false;
  shape.write_indices = true;
  auto run = run_on_device(**context, shape, *keys, nullptr, "argsort");
  if (!run) return std::unexpected(run.error());
  if (const auto ok = write_indices(*run, "indices", keys->count(), *outputs.find("--output")); !ok) return ok;
  if (const auto ok = outputs.commit(); !ok) return ok;
  if (options.json) print_sorted(**context, keys->array(), start);
  return {};
}

constexpr const char* sort_examples = R"(  upsweep sort times.npy -o sorted.npy
  upsweep sort --descending scores.npy -o sorted.npy --values names.npy --values-out sorted_names.npy
  upsweep sort --bits 8 24 codes.npy -o by_these_bits.npy
Keys: u1 to u8, i1 to i8, b1, f2, f4, f8, as one flat array; the result is flat. FILE - reads standard input.
Stable, descending, too. NaN comes last (first if descending) and equals NaN, -0 equals +0; keys keep their type and
their bits. Values are any of these types: one a key, or a row of several dimensions a key, as an array of shape (n, 3)
beside n keys; they keep their shape.
--bits sorts by the bits BEGIN to END - 1 of the key alone, 0 the least; of signed keys with the sign flipped, of floats
in the order of their values.
All keys, values and results must fit into the device's memory and limits: `upsweep info` lists them.)";

constexpr const char* argsort_examples = R"(  upsweep argsort distances.npy -o nearest_first.npy
  upsweep argsort --descending scores.npy -o best_first.npy
Keys: u1 to u8, i1 to i8, b1, f2, f4, f8, as one flat array. FILE - reads standard input.
Writes where each item of the sorted array is in the file, as i8: numpy.argsort(x, axis=None, kind="stable"). Stable,
descending, too. NaN comes last (first if descending) and equals NaN, -0 equals +0. All keys and results must fit into
the device's memory and limits: `upsweep info` lists them.)";

}  // namespace

void add_sort(Program& program) {
  auto options = std::make_shared<SortOptions>();
  CLI::App& command = program.add(program.app, "sort", "Sort a .npy file, with values that belong to its items",
                                  sort_examples, options, run_sort);
  program.reads(command.add_option("file", options->file, "Array of keys"))->required()->type_name("KEYS.npy");
  program.writes(command.add_option("-o,--output", options->output, "File for the sorted keys"))->type_name("OUT.npy");
  auto* values =
      program.reads(command.add_option("--values", options->values, "Array of values that follow their keys"));
  auto* values_output = program.writes(command.add_option("--values-out", options->values_output, "File for them"));
  values->type_name("V.npy")->needs(values_output);
  values_output->type_name("W.npy")->needs(values);
  command.add_flag("--descending", options->descending, "The greatest first");
  command.add_option("--bits", options->bits, "Sort by these bits of the keys alone")
      ->expected(2)
      ->allow_extra_args(false)  // a file may follow
      ->type_name("BEGIN END");
  program.prints(command.add_flag("--json", options->json, "Print count, type and time as JSON"));
}

void add_argsort(Program& program) {
  auto options = std::make_shared<SortOptions>();
  CLI::App& command = program.add(program.app, "argsort", "Write the indices that sort a .npy file", argsort_examples,
                                  options, run_argsort);
  program.reads(command.add_option("file", options->file, "Array of keys"))->required()->type_name("KEYS.npy");
  program.writes(command.add_option("-o,--output", options->output, "File for the indices"))
      ->required()
      ->type_name("INDICES.npy");
  command.add_flag("--descending", options->descending, "The greatest first");
  program.prints(command.add_flag("--json", options->json, "Print count, type and time as JSON"));
}

}  // namespace upsweep::cli
