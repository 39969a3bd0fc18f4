// SPDX-License-Identifier: Apache-2.0
// upsweep unique and upsweep rle: runs of equal neighbours in a .npy file.
#include "upsweep/runs.h"

#include <chrono>

#include "fold.h"
#include "json_result.h"
#include "kept_items.h"

namespace upsweep::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct UniqueOptions {
  std::string file;
  std::string output;
  std::string indices;
  bool json = false;
};

struct RunLengthOptions {
  std::string file;
  std::string values;
  std::string lengths;
  std::string offsets;
  bool only_repeated = false;
  bool json = false;
};

// Uploads, runs and gives the number of runs.
Expected<std::uint64_t> count_runs(Context& context, ArrayRun& run, const Items& items, const std::string& command) {
  Progress progress(command, items.array().item_count() * items.type().size_bytes);
  if (const auto ok = run.upload("input", items, progress); !ok) return std::unexpected(ok.error());
  if (const Status ok = run.run(); !ok) return failed(ok.error());
  if (const auto ok = check_device(context); !ok) return std::unexpected(ok.error());
  return run.read_count();
}

void print_runs(const Context& context, const npy::Array& array, std::uint64_t run_count, Clock::time_point start) {
  nlohmann::ordered_json json;
  json["items"] = array.item_count();
  json["runs"] = run_count;
  json["dtype"] = npy::dtype_name(array.dtype());
  print_json(std::move(json), context, start);
}

Outcome run_unique(Program& program, const UniqueOptions& options) {
  const auto start = Clock::now();
  auto items = Items::open_to_compare(options.file);
  if (!items) return std::unexpected(items.error());
  const npy::Array& array = items->array();
  if (const auto ok = check_item_count(array); !ok) return ok;
  Outputs outputs;
  if (const auto ok = outputs.open("--output", options.output); !ok) return ok;
  if (const auto ok = outputs.open_if_named("--indices", options.indices); !ok) return ok;
  warn_of_trailing_bytes(array);

  const auto context = open_context(program.global);
  if (!context) return std::unexpected(context.error());
  if (!(*context)->traits().f16) items->widen_f16();
  ArrayFile* indices = outputs.find("--indices");
  const UniqueShape shape{.item_count = Count::on_host(array.item_count()),
                          .input = items->type(),
                          .write_indices = indices != nullptr || needs_indices(*items)};
  const auto plan = plan_unique(shape, (*context)->traits());
  if (!plan) return plan_failed(plan.error(), array);
  auto run = ArrayRun::create(**context, *plan, array.name());
  if (!run) return std::unexpected(run.error());
  const auto count = count_runs(**context, *run, *items, "unique");
  if (!count) return std::unexpected(count.error());
  if (const auto ok = write_kept_items(*run, *items, "output", "indices", *count, *outputs.find("--output")); !ok) {
    return ok;
  }
  if (indices != nullptr) {
    if (const auto ok = write_indices(*run, "indices", *count, *indices); !ok) return ok;
  }
  if (const auto ok = outputs.commit(); !ok) return ok;
  if (options.json) print_runs(**context, array, *count, start);
  return {};
}

Outcome run_run_length(Program& program, const RunLengthOptions& options) {
  const auto start = Clock::now();
  if (options.values.empty() && options.lengths.empty() && options.offsets.empty()) {
    return refuse("rle needs --values, --lengths or --offsets");
  }
  auto items = Items::open_to_compare(options.file);
  if (!items) return std::unexpected(items.error());
  const npy::Array& array = items->array();
  if (const auto ok = check_item_count(array); !ok) return ok;
  Outputs outputs;
  if (const auto ok = outputs.open_if_named("--values", options.values); !ok) return ok;
  if (const auto ok = outputs.open_if_named("--lengths", options.lengths); !ok) return ok;
  if (const auto ok = outputs.open_if_named("--offsets", options.offsets); !ok) return ok;
  warn_of_trailing_bytes(array);

  const auto context = open_context(program.global);
  if (!context) return std::unexpected(context.error());
  if (!(*context)->traits().f16) items->widen_f16();
  ArrayFile* values = outputs.find("--values");
  ArrayFile* lengths = outputs.find("--lengths");
  ArrayFile* offsets = outputs.find("--offsets");
  const RunLengthShape shape{.item_count = Count::on_host(array.item_count()),
                             .input = items->type(),
                             .write_values = values != nullptr && !needs_indices(*items),
                             .write_lengths = lengths != nullptr,
                             .write_offsets = offsets != nullptr || (values != nullptr && needs_indices(*items)),
                             .only_repeated = options.only_repeated};
  const auto plan = plan_run_length(shape, (*context)->traits());
  if (!plan) return plan_failed(plan.error(), array);
  auto run = ArrayRun::create(**context, *plan, array.name());
  if (!run) return std::unexpected(run.error());
  const auto count = count_runs(**context, *run, *items, "rle");
  if (!count) return std::unexpected(count.error());
  if (values != nullptr) {
    if (const auto ok = write_kept_items(*run, *items, "values", "offsets", *count, *values); !ok) return ok;
  }
  if (lengths != nullptr) {
    if (const auto ok = write_indices(*run, "lengths", *count, *lengths); !ok) return ok;
  }
  if (offsets != nullptr) {
    if (const auto ok = write_indices(*run, "offsets", *count, *offsets); !ok) return ok;
  }
  if (const auto ok = outputs.commit(); !ok) return ok;
  if (options.json) print_runs(**context, array, *count, start);
  return {};
}

constexpr const char* unique_examples = R"(  upsweep unique sorted.npy -o values.npy
  upsweep unique states.npy -o changes.npy --indices at.npy
Items: u1 to u8, i1 to i8, b1, f2, f4, f8. FILE - reads standard input.
Keeps the first item of every run of equal neighbours of the flat array, in order, with its type and bits; what is not
next to its equal stays, so sort first for all distinct values, as numpy.unique does. NaN equals NaN, -0 equals +0.
Indices, where each run begins, are i8. All items and the results must fit into the device's memory and limits:
`upsweep info` lists them.)";

constexpr const char* run_length_examples = R"(  upsweep rle mask.npy --values values.npy --lengths lengths.npy
  upsweep rle --only-repeated states.npy --offsets at.npy --lengths lengths.npy
Items: u1 to u8, i1 to i8, b1, f2, f4, f8. FILE - reads standard input.
A run is one or more equal neighbours of the flat array. Its value is its first item, with its type and bits. NaN
equals NaN, -0 equals +0. Lengths and offsets are i8. numpy.repeat(values, lengths) gives the array back, but for the
bits of equal items. All items and the results must fit into the device's memory and limits: `upsweep info` lists
them.)";

}  // namespace

void add_unique(Program& program) {
  auto options = std::make_shared<UniqueOptions>();
  CLI::App& command = program.add(program.app, "unique", "Keep one of each run of equal neighbours in a .npy file",
                                  unique_examples, options, run_unique);
  program.reads(command.add_option("file", options->file, "Array to read"))->required()->type_name("FILE.npy");
  program.writes(command.add_option("-o,--output", options->output, "File for the items"))
      ->required()
      ->type_name("OUT.npy");
  program.writes(command.add_option("--indices", options->indices, "File for the indices where runs begin"))
      ->type_name("IDX.npy");
  program.prints(command.add_flag("--json", options->json, "Print count, type and time as JSON"));
}

void add_run_length(Program& program) {
  auto options = std::make_shared<RunLengthOptions>();
  CLI::App& command =
      program.add(program.app, "rle", "Run-length encode a .npy file: value, length and place of each run",
                  run_length_examples, options, run_run_length);
  program.reads(command.add_option("file", options->file, "Array to read"))->required()->type_name("FILE.npy");
  program.writes(command.add_option("--values", options->values, "File for the runs' values"))->type_name("V.npy");
  program.writes(command.add_option("--lengths", options->lengths, "File for their lengths"))->type_name("L.npy");
  program.writes(command.add_option("--offsets", options->offsets, "File for the indices where they begin"))
      ->type_name("O.npy");
  command.add_flag("--only-repeated", options->only_repeated, "Leave out runs of one item");
  program.prints(command.add_flag("--json", options->json, "Print count, type and time as JSON"));
}

}  // namespace upsweep::cli
