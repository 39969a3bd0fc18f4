// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/bench_plans.h"

#include <algorithm>
#include <bit>

#include "benchmarking/embedded_kernels.h"
#include "benchmarking/input.h"
#include "plan/grid.h"
#include "plan/kernel_builder.h"
#include "plan/narrow.h"
#include "plan/plan_builder.h"

namespace upsweep::bench {
namespace {

// RUNS and ONE_WORD of bench_fill.wgsl; the other kinds are those of InputKind.
constexpr std::uint32_t in_runs = 2;
constexpr std::uint32_t one_word = 3;

Result<Plan> plan_words(std::uint64_t count, std::uint32_t kind, std::uint32_t word, const DeviceTraits& traits) {
  const std::uint32_t size = bench_workgroup_size(traits);
  KernelBuilder builder = bench_kernel("bench_fill", size);
  add_benchmark_part(builder, "bench_hash.wgsl");
  const auto fill = std::move(builder).build();
  if (!fill) return std::unexpected(fill.error());
  PlanBuilder plan("bench_fill", traits);
  const SlotId output = plan.argument("output", count * 4, 4, true);
  const std::uint64_t window = align_down(traits.max_binding_bytes, traits.offset_alignment) / 4;
  for (std::uint64_t first = 0; first < count; first += window) {
    const std::uint64_t item_count = std::min(window, count - first);
    plan.dispatch({.kernel = *fill,
                   .workgroup_count = div_ceil(item_count, size),
                   .bindings = {{"output", output, first * 4, item_count * 4}},
                   .params = {{"item_count", u32(item_count)},
                              {"index_base", u32(first)},
                              {"seed", input_seed},
                              {"kind", kind},
                              {"word", word}},
                   .reason = "makes the input",
                   .bytes_written = item_count * 4});
  }
  return std::move(plan).finish();
}

}  // namespace

KernelBuilder bench_kernel(std::string_view name, std::uint32_t workgroup_size, std::uint32_t workgroup_bytes) {
  KernelBuilder builder{std::string(name)};
  builder.workgroup(workgroup_size, workgroup_bytes);
  builder.part("thread.wgsl").part("entry.plain.wgsl").part("grid.wgsl");
  add_benchmark_part(builder, std::string(name) + ".wgsl");
  return builder;
}

std::uint32_t bench_workgroup_size(const DeviceTraits& traits) {
  return std::min(256u, std::bit_floor(traits.max_workgroup_size));
}

Result<Plan> plan_fill(std::uint64_t item_count, InputKind kind, const DeviceTraits& traits) {
  return plan_words(item_count, static_cast<std::uint32_t>(kind), 0, traits);
}

Result<Plan> plan_fill_runs(const Runs& runs, const DeviceTraits& traits) {
  return plan_words(runs.item_count, in_runs, runs.mean, traits);
}

Result<Plan> plan_poison(std::uint64_t word_count, std::uint32_t word, const DeviceTraits& traits) {
  return plan_words(word_count, one_word, word, traits);
}

Result<Plan> plan_copy(std::uint64_t word_count, std::uint64_t workgroup_count, const DeviceTraits& traits) {
  const std::uint32_t size = bench_workgroup_size(traits);
  const auto copy = bench_kernel("bench_copy", size).build();
  if (!copy) return std::unexpected(copy.error());
  PlanBuilder plan("bench_copy", traits);
  const SlotId input = plan.argument("input", word_count * 4, 16);
  const SlotId output = plan.argument("output", word_count * 4, 16, true);
  plan.dispatch({.kernel = *copy,
                 .workgroup_count = workgroup_count,
                 .bindings = {{"input", input}, {"output", output}},
                 .params = {{"unit_count", u32(word_count / 4)}, {"thread_count", u32(workgroup_count * size)}},
                 .reason = "copies",
                 .bytes_read = word_count * 4,
                 .bytes_written = word_count * 4});
  return std::move(plan).finish();
}

Result<Plan> plan_read(std::uint64_t word_count, std::uint64_t workgroup_count, const DeviceTraits& traits) {
  const std::uint32_t size = bench_workgroup_size(traits);
  KernelBuilder builder = bench_kernel("bench_read", size, size * 4);
  builder.constant("TILE_UNITS", size * read_units_per_thread);
  builder.alias("Accumulator", "u32").part("workgroup_reduce.tree.wgsl");
  const auto read = std::move(builder).build();
  if (!read) return std::unexpected(read.error());
  PlanBuilder plan("bench_read", traits);
  const SlotId input = plan.argument("input", word_count * 4, 16);
  const SlotId output = plan.argument("output", workgroup_count * 4, 4, true);
  plan.dispatch({.kernel = *read,
                 .workgroup_count = workgroup_count,
                 .bindings = {{"input", input}, {"output", output}},
                 .params = {{"unit_count", u32(word_count / 4)}, {"workgroup_count", u32(workgroup_count)}},
                 .reason = "reads",
                 .bytes_read = word_count * 4,
                 .bytes_written = workgroup_count * 4});
  return std::move(plan).finish();
}

Result<Plan> plan_probe(std::uint32_t multiply_count, const DeviceTraits& traits) {
  constexpr std::uint32_t threads = 32;
  constexpr std::uint32_t multiplies_per_round = 16;
  const auto probe = bench_kernel("bench_probe", threads).build();
  if (!probe) return std::unexpected(probe.error());
  PlanBuilder plan("bench_probe", traits);
  const SlotId output = plan.argument("output", probe_bytes, 4, true);
  plan.dispatch({.kernel = *probe,
                 .workgroup_count = 1,
                 .bindings = {{"output", output}},
                 .params = {{"round_count", multiply_count / multiplies_per_round}, {"multiplier", 2654435761u}},
                 .reason = "follows the clock",
                 .bytes_written = std::uint64_t{threads} * 4});
  return std::move(plan).finish();
}

}  // namespace upsweep::bench
