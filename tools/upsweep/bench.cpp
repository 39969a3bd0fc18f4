// SPDX-License-Identifier: Apache-2.0
// upsweep bench: times the primitives on the device.
#include "benchmarking/bench.h"

#include <algorithm>
#include <format>
#include <iostream>

#include "commands.h"

namespace upsweep::cli {
namespace {

struct BenchArguments {
  bench::BenchOptions bench;
  std::vector<std::string> items;
};

Outcome run_bench(Program& program, const BenchArguments& arguments) {
  bench::BenchOptions options = arguments.bench;
  const std::vector<std::string> known = bench::bench_names();
  for (const std::string& name : options.names) {
    if (std::ranges::contains(known, name)) continue;
    std::string names;
    for (const std::string& known_name : known) names += (names.empty() ? "" : ", ") + known_name;
    return refuse(std::format("there is no benchmark \"{}\"; there are: {}", name, names));
  }
  for (const std::string& text : arguments.items) {
    const auto count = parse_count(text);
    if (!count) return std::unexpected(count.error());
    options.items.push_back(*count);
  }
  // Bare `upsweep bench` shows what the steps of the ladder bring, in a minute or so.
  if (options.names.empty()) {
    options.names = {"reduce"};
    options.ladder = true;
    options.quick = options.quick || options.items.empty();
  }
  GlobalOptions global = program.global;
  global.adapter.exact_timestamps = true;
  const auto context = open_context(global);
  if (!context) return std::unexpected(context.error());
  if (const Status ok = bench::run_bench(**context, options, std::cout, std::cerr); !ok) return failed(ok.error());
  return check_device(**context);
}

}  // namespace

void add_bench(Program& program) {
  auto arguments = std::make_shared<BenchArguments>();
  bench::BenchOptions& options = arguments->bench;
  CLI::App& command =
      program.add(program.app, "bench", "Measure primitives; without a name, the quick ladder of reduce",
                  "  upsweep bench\n"
                  "  upsweep bench reduce --type f32 --items 2^20,2^24 --json result.json\n"
                  "  upsweep bench reduce --ladder",
                  arguments, run_bench);
  command.add_option("names", options.names, "Benchmarks to run")->type_name("NAMES");
  command.add_flag("--ladder", options.ladder, "Show each step from the naive kernel to the library's");
  command.add_flag("--quick", options.quick, "The ladder at one size that suits the adapter");
  command.add_option("--items", arguments->items, "Item counts, as 1000000, 1e6 or 2^20")
      ->delimiter(',')
      ->type_name("LIST");
  command.add_option("--type", options.types, "Item types: u32, f32, ...")->delimiter(',')->type_name("LIST");
  command.add_option("--op", options.operation, "Operator")->type_name("OP");
  command.add_option("--samples", options.samples, "Measurements of each case")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--json", options.json_path, "Also write the results into a file")->type_name("FILE");
}

}  // namespace upsweep::cli
