// SPDX-License-Identifier: Apache-2.0
#include "arrays.h"

#include "benchmarking/ladder/steps.h"
#include "plan/grid.h"

namespace upsweep::web {

LadderStep cpu_step(std::string title) { return {.id = "cpu", .title = std::move(title), .on_cpu = true}; }

LadderStep library_step() {
  return {.id = std::string(bench::library_step), .title = std::string(bench::library_title)};
}

bool has_look_back(const DeviceTraits& traits) { return traits.look_back || traits.is_cpu; }

std::unexpected<Error> no_look_back() {
  return fail(ErrorKind::unsupported, "Kernels of a single pass gave wrong answers in the self-test of this device.");
}

std::vector<std::uint32_t> hashed_items(std::uint64_t item_count) {
  std::vector<std::uint32_t> items(static_cast<std::size_t>(item_count));
  for (std::size_t i = 0; i < items.size(); ++i) items[i] = bench::input_hash(static_cast<std::uint32_t>(i));
  return items;
}

Result<LadderWork> array_work(Result<Plan> plan, Result<Plan> fill, std::uint64_t input_bytes,
                              std::uint64_t output_bytes) {
  if (!plan) return std::unexpected(std::move(plan).error());
  if (!fill) return std::unexpected(std::move(fill).error());
  LadderWork work{.run = {.plan = std::move(*plan), .arguments = {{"input", "input"}, {"output", "output"}}},
                  .buffers = {}};
  work.buffers.push_back(
      {.name = "input", .size_bytes = align_up(input_bytes, std::uint64_t{16}), .fill = std::move(*fill)});
  work.buffers.push_back({.name = std::string(output_name), .size_bytes = align_up(output_bytes, std::uint64_t{16})});
  return work;
}

}  // namespace upsweep::web
