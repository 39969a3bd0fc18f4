// SPDX-License-Identifier: Apache-2.0
// upsweep select: keeps the items of a .npy file that pass a test.
#include "upsweep/select.h"

#include <chrono>
#include <format>

#include "fold.h"
#include "json_result.h"
#include "kept_items.h"

namespace upsweep::cli {
namespace {

struct SelectOptions {
  std::string file;
  std::string where;
  std::string cast;
  std::string output;
  std::string indices;
  bool json = false;
};

std::unexpected<Failure> text_failed(const Error& error, const SelectOptions& options, const Items& items) {
  auto failure = failed(error, UserText{"--where", options.where, "predicate expression"});
  if (items.type().is_64_bit()) {
    const bool is_signed = items.array().dtype() == npy::Dtype::i8;
    failure.error().message +=
        std::format("; x of {} items is a vec2u, low word first: {} is the item where it fits into 32 bits",
                    npy::dtype_name(items.array().dtype()), is_signed ? "i32(x.x)" : "x.x");
  }
  if (items.array().dtype() == npy::Dtype::b1) failure.error().message += "; x of b1 items is a u32, 0 or 1";
  return failure;
}

Outcome run_select(Program& program, const SelectOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  if (options.output.empty() && options.indices.empty()) return refuse("select needs --output or --indices");
  auto items = Items::open_for_text(options.file, "--where", options.cast == "f4");
  if (!items) return std::unexpected(items.error());
  const npy::Array& array = items->array();
  if (const auto ok = check_item_count(array); !ok) return ok;
  Outputs outputs;
  if (const auto ok = outputs.open_if_named("--output", options.output); !ok) return ok;
  if (const auto ok = outputs.open_if_named("--indices", options.indices); !ok) return ok;
  warn_of_trailing_bytes(array);

  const auto context = open_context(program.global);
  if (!context) return std::unexpected(context.error());
  if (!(*context)->traits().f16) items->widen_f16();
  ArrayFile* output = outputs.find("--output");
  ArrayFile* indices = outputs.find("--indices");
  const SelectShape shape{.item_count = Count::on_host(array.item_count()),
                          .input = items->type(),
                          .predicate = Predicate::of(options.where),
                          .write_items = output != nullptr && !needs_indices(*items),
                          .write_indices = indices != nullptr || needs_indices(*items)};
  const auto plan = plan_select(shape, (*context)->traits());
  if (!plan && plan.error().kind == ErrorKind::invalid_request) return text_failed(plan.error(), options, *items);
  if (!plan) return plan_failed(plan.error(), array);
  auto run = ArrayRun::create(**context, *plan, array.name());
  if (!run) return std::unexpected(run.error());
  Progress progress("select", array.item_count() * items->type().size_bytes);
  if (const auto ok = run->upload("input", *items, progress); !ok) return ok;
  if (const Status ok = run->run(); !ok) return text_failed(ok.error(), options, *items);
  const auto count = run->read_count();
  if (!count) return std::unexpected(count.error());
  if (output != nullptr) {
    if (const auto ok = write_kept_items(*run, *items, "output", "indices", *count, *output); !ok) return ok;
  }
  if (indices != nullptr) {
    if (const auto ok = write_indices(*run, "indices", *count, *indices); !ok) return ok;
  }
  if (const auto ok = outputs.commit(); !ok) return ok;
  if (!options.json) return {};
  nlohmann::ordered_json json;
  json["items"] = array.item_count();
  json["selected"] = *count;
  json["dtype"] = npy::dtype_name(array.dtype());
  print_json(std::move(json), **context, start);
  return {};
}

constexpr const char* select_examples = R"(  upsweep select --where 'x > 0.5' samples.npy -o large.npy
  upsweep select --where 'x != 0' --indices positions.npy mask.npy
  upsweep select --where 'i % 10u == 0u' signal.npy -o thinned.npy --indices at.npy
  upsweep select --where 'i32(x.x) > 5' int64.npy -o kept.npy
Items: u1 to u8, i1 to i8, b1, f2, f4; f8 with --cast f4. FILE - reads standard input.
--where is a WGSL expression of type bool of x, the item (u32, i32 or f32; b1 items are a u32, 0 or 1), and i, its index
(u32) in the flat array. i8 and u8 items (int64 is NumPy's usual integer) are a vec2u, low word first: i32(x.x) and x.x
are those that fit into 32 bits, and x.y >= 0x80000000u is true of negative ones. Items keep their order, their type and
their bits, as in numpy's x[x > 0.5]; the result is flat. Indices are i8, as those of numpy.flatnonzero. All items and
the results must fit into the device's memory and limits: `upsweep info` lists them.)";

}  // namespace

void add_select(Program& program) {
  auto options = std::make_shared<SelectOptions>();
  CLI::App& command =
      program.add(program.app, "select", "Keep the items of a .npy file for which an expression is true",
                  select_examples, options, run_select);
  program.reads(command.add_option("file", options->file, "Array to read"))->required()->type_name("FILE.npy");
  command.add_option("--where", options->where, "WGSL expression of the item x and its index i")
      ->required()
      ->type_name("EXPR");
  program.writes(command.add_option("-o,--output", options->output, "File for the items"))->type_name("OUT.npy");
  program.writes(command.add_option("--indices", options->indices, "File for their indices"))->type_name("IDX.npy");
  program.prints(command.add_flag("--json", options->json, "Print count, type and time as JSON"));
  command.add_option("--cast", options->cast, "f4: for f8 items, x is the item rounded to 32 bits")
      ->check(CLI::IsMember({"f4"}));
}

}  // namespace upsweep::cli
