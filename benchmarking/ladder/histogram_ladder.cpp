// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/ladder/histogram_ladder.h"

#include <algorithm>
#include <bit>
#include <format>

#include "benchmarking/bench_plans.h"
#include "benchmarking/embedded_kernels.h"
#include "benchmarking/ladder/ladder_kernels.h"
#include "plan/grid.h"
#include "plan/kernel_builder.h"
#include "plan/narrow.h"
#include "plan/plan_builder.h"

namespace upsweep::bench {
namespace {

constexpr std::uint64_t most_chunks = 2048;

// The counters of one thread and bin are a byte: as many threads as have room.
std::uint32_t threads_of(HistogramStep step, std::uint32_t bin_count, std::uint32_t workgroup_size,
                         const DeviceTraits& traits) {
  if (step != HistogramStep::threads) return workgroup_size;
  return std::min(workgroup_size, std::bit_floor(traits.max_workgroup_bytes / bin_count));
}

}  // namespace

std::string_view step_name(HistogramStep step) {
  switch (step) {
    case HistogramStep::atomic: return "atomic";
    case HistogramStep::workgroup: return "workgroup";
    case HistogramStep::threads: return "threads";
  }
  return "?";
}

std::string_view step_title(HistogramStep step) {
  switch (step) {
    case HistogramStep::atomic: return "one global atomic per sample";
    case HistogramStep::workgroup: return "atomics in workgroup memory";
    case HistogramStep::threads: return "counters of each thread";
  }
  return "?";
}

std::string_view to_string(Samples samples) {
  switch (samples) {
    case Samples::uniform: return "uniform";
    case Samples::constant: return "constant";
    case Samples::sorted: return "sorted";
    case Samples::skewed: return "skewed";
  }
  return "?";
}

Result<Plan> plan_histogram_step(HistogramStep step, std::uint32_t bin_count, std::uint64_t item_count,
                                 const DeviceTraits& traits, std::optional<std::uint32_t> wanted_workgroup_size) {
  const std::uint32_t size = wanted_workgroup_size.value_or(bench_workgroup_size(traits));
  if (const Status ok = check_ladder_request(ElementType::f32(), item_count, size, traits); !ok) {
    return std::unexpected(ok.error());
  }
  if (!std::has_single_bit(bin_count) || bin_count < 4) {
    return fail(ErrorKind::invalid_request,
                std::format("The ladder of histogram has a power of two of bins, at least 4, not {}.", bin_count));
  }
  const std::uint32_t threads = threads_of(step, bin_count, size, traits);
  const std::uint64_t bytes = step == HistogramStep::atomic      ? 0
                              : step == HistogramStep::workgroup ? std::uint64_t{bin_count} * 4
                                                                 : std::uint64_t{bin_count} * threads;
  if (threads == 0 || bytes > traits.max_workgroup_bytes) {
    return fail(ErrorKind::unsupported, std::format("{} bins do not fit into workgroup memory.", bin_count));
  }
  KernelBuilder builder = bench_kernel(std::format("ladder_histogram_{}", step_name(step)), threads, u32(bytes));
  builder.constant("BIN_COUNT", bin_count);
  add_benchmark_part(builder, "ladder_histogram_params.wgsl");
  const auto count = std::move(builder).build();
  if (!count) return std::unexpected(count.error());
  const auto clear = bench_kernel("ladder_histogram_clear", size).build();
  if (!clear) return std::unexpected(clear.error());

  PlanBuilder plan(std::format("ladder_histogram_{}", step_name(step)), traits);
  const SlotId input = plan.argument("input", item_count * 4, 4);
  const SlotId output = plan.argument("output", std::uint64_t{bin_count} * 4, 4, true);
  plan.least_bytes(item_count * 4 + std::uint64_t{bin_count} * 4);
  plan.dispatch({.kernel = *clear,
                 .workgroup_count = div_ceil(bin_count, size),
                 .bindings = {{"output", output}},
                 .params = {{"bin_count", bin_count}},
                 .reason = "the counts begin at zero",
                 .bytes_written = std::uint64_t{bin_count} * 4});
  // Bytes of threads are added up at least once a chunk: chunks that fill them.
  const std::uint64_t least = step == HistogramStep::threads ? std::uint64_t{255} * threads : threads;
  const std::uint64_t chunk = align_up(std::max(div_ceil(item_count, most_chunks), least), threads);
  plan.dispatch({.kernel = *count,
                 .workgroup_count = div_ceil(item_count, chunk),
                 .bindings = {{"input", input}, {"output", output}},
                 .params = {{"item_count", u32(item_count)}, {"chunk_items", u32(chunk)}},
                 .reason = std::format("{} samples in chunks of {}", item_count, chunk),
                 .bytes_read = item_count * 4,
                 .bytes_written = std::uint64_t{bin_count} * 4});
  return std::move(plan).finish();
}

std::vector<std::uint32_t> count_samples(Samples samples, std::uint32_t bin_count, std::uint64_t item_count) {
  std::vector<std::uint32_t> counts(bin_count);
  for (std::uint64_t i = 0; i < item_count; ++i) {
    const std::uint64_t units = sample_units(samples, u32(i), item_count);
    ++counts[static_cast<std::size_t>(units * bin_count >> 24)];
  }
  return counts;
}

Result<Plan> plan_samples(Samples samples, std::uint64_t item_count, const DeviceTraits& traits) {
  const std::uint32_t size = bench_workgroup_size(traits);
  KernelBuilder builder = bench_kernel("bench_samples", size);
  add_benchmark_part(builder, "bench_hash.wgsl");
  const auto fill = std::move(builder).build();
  if (!fill) return std::unexpected(fill.error());
  PlanBuilder plan("bench_samples", traits);
  const SlotId output = plan.argument("output", item_count * 4, 4, true);
  const auto bits = item_count < 2 ? 0u : u32(static_cast<std::uint64_t>(std::bit_width(item_count - 1)));
  plan.dispatch({.kernel = *fill,
                 .workgroup_count = div_ceil(item_count, size),
                 .bindings = {{"output", output}},
                 .params = {{"item_count", u32(item_count)},
                            {"seed", input_seed},
                            {"kind", static_cast<std::uint32_t>(samples)},
                            {"sorted_shift", bits > 24 ? bits - 24 : 0},
                            {"sorted_grow", bits > 24 ? 0 : 24 - bits}},
                 .reason = "makes the samples",
                 .bytes_written = item_count * 4});
  return std::move(plan).finish();
}

}  // namespace upsweep::bench
