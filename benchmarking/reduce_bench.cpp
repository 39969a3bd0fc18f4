// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/reduce_bench.h"

#include <array>
#include <chrono>
#include <format>
#include <new>

#include "benchmarking/ladder/cpu_sum.h"
#include "benchmarking/ladder/ladder.h"
#include "upsweep/reduce.h"

namespace upsweep::bench {
namespace {

constexpr std::string_view library_title = "the library's choice";

Measurement new_row(const ReduceBench& bench, const ElementType& type, std::uint64_t item_count, std::string_view step,
                    std::string_view title) {
  return {.primitive = "reduce",
          .operation = to_string(bench.combine),
          .type = type.name,
          .step = std::string(step),
          .title = std::string(title),
          .item_count = item_count,
          .bytes_moved = item_count * 4};
}

Status measure_library(Session& session, const ReduceBench& bench, const ElementType& type,
                       const RunningReference& expected, bool with_amortised, Measurement& row) {
  if (!session.fits(row.item_count)) {
    row.not_timed = "larger than the device's largest buffer";
    return {};
  }
  const auto make = [&](std::uint64_t item_count) -> Result<Work> {
    const ReduceShape shape{.item_count = Count::on_host(item_count), .input = type, .combine = bench.combine};
    const std::optional<ReduceTuning> tuning = session.options().tuning;
    auto plan = plan_reduce(shape, session.context().traits(), tuning);
    if (!plan) return std::unexpected(plan.error());
    // Through the public call, with its look-up of the plan: that is what a caller pays for.
    return Work{std::make_shared<const Plan>(std::move(*plan)), [&session, shape, tuning](WGPUComputePassEncoder pass) {
                  return record_reduce(session.context(), pass, shape,
                                       {.input = session.input(), .output = session.output()}, tuning);
                }};
  };
  return session.measure(row, make, expected, with_amortised);
}

Status measure_step(Session& session, LadderStep step, const ElementType& type, const RunningReference& expected,
                    Measurement& row) {
  const DeviceTraits& traits = session.context().traits();
  if (step == LadderStep::atomic && type != ElementType::u32()) {
    row.not_timed = "needs u32";
    return {};
  }
  if (const auto plan = plan_ladder(step, type, row.item_count, traits); !plan) {
    if (plan.error().kind != ErrorKind::unsupported) return std::unexpected(plan.error());
    row.not_timed = row.item_count > traits.max_binding_bytes / 4 ? "larger than one binding" : "not on this device";
    return {};
  }
  const auto make = [&](std::uint64_t item_count) -> Result<Work> {
    auto plan = plan_ladder(step, type, item_count, traits);
    if (!plan) return std::unexpected(plan.error());
    auto shared = std::make_shared<const Plan>(std::move(*plan));
    return Work{shared, [&session, shared](WGPUComputePassEncoder pass) {
                  const std::array arguments{Argument{"input", session.input()}, Argument{"output", session.output()}};
                  return session.context().record(pass, *shared, arguments);
                }};
  };
  return session.measure(row, make, expected, false);
}

// Samples of at least a millisecond of whole sums.
template <typename Sum>
Timing time_on_host(const Sum& sum) {
  constexpr double sample_ms = 1;
  constexpr std::uint32_t samples = 5;
  constexpr std::uint32_t most_repeats = 1u << 24;
  const auto run = [&](std::uint32_t repeats) {
    const auto begin = std::chrono::steady_clock::now();
    for (std::uint32_t i = 0; i < repeats; ++i) sum();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  };
  Timing timing;
  double total_ms = run(1);
  for (std::uint32_t next = 0;; total_ms = run(timing.repeats)) {
    next = next_repeats(timing.repeats, total_ms, sample_ms, most_repeats);
    if (next == timing.repeats) break;
    timing.repeats = next;
  }
  std::vector<double> ms;
  for (std::uint32_t i = 0; i < samples; ++i) ms.push_back(run(timing.repeats) / timing.repeats);
  timing.ms = spread_of(std::move(ms));
  return timing;
}

void measure_cpu(const ElementType& type, const RunningReference& expected, Measurement& row) {
  volatile std::uint32_t result = 0;
  try {
    if (type == ElementType::f32()) {
      std::vector<float> items(row.item_count);
      for (std::uint64_t i = 0; i < items.size(); ++i) items[i] = input_float(static_cast<std::uint32_t>(i));
      row.call = time_on_host([&] { result = std::bit_cast<std::uint32_t>(static_cast<float>(cpu_sum(items))); });
    } else {
      std::vector<std::uint32_t> items(row.item_count);
      for (std::uint64_t i = 0; i < items.size(); ++i) items[i] = input_hash(static_cast<std::uint32_t>(i));
      row.call = time_on_host([&] { result = cpu_sum(items); });
    }
  } catch (const std::bad_alloc&) {
    row.not_timed = "no memory for the items on the host";
    return;
  }
  const Verdict verdict = expected.check(result);
  row.correct = verdict.correct;
  row.relative_error = verdict.relative_error;
}

Status run_ladder(Session& session, const ReduceBench& bench, const ElementType& type, std::uint64_t item_count,
                  const RunningReference& expected, std::vector<Measurement>& rows) {
  const auto begin = [&](std::string_view title) {
    session.progress().begin(
        std::format("ladder of reduce, {} {} items: {}", format_items(item_count), type.name, title));
  };
  const std::string_view cpu_title =
      type == ElementType::f32() ? "CPU, one thread (adds in double)" : "CPU, one thread";
  begin(cpu_title);
  rows.push_back(new_row(bench, type, item_count, "cpu", cpu_title));
  measure_cpu(type, expected, rows.back());
  for (const LadderStep step : ladder_steps) {
    begin(ladder_step_title(step));
    rows.push_back(new_row(bench, type, item_count, ladder_step_name(step), ladder_step_title(step)));
    if (!session.fits(item_count)) {
      rows.back().not_timed = "larger than the device's largest buffer";
      continue;
    }
    if (const Status ok = measure_step(session, step, type, expected, rows.back()); !ok) return ok;
  }
  begin(library_title);
  rows.push_back(new_row(bench, type, item_count, "library", library_title));
  return measure_library(session, bench, type, expected, false, rows.back());
}

}  // namespace

Status run_reduce_sizes(Session& session, const ReduceBench& bench) {
  for (const ElementType& type : bench.types) {
    auto expected = RunningReference::create(bench.combine, type);
    if (!expected) return std::unexpected(expected.error());
    if (const Status ok = session.fill_input(*type.scalar); !ok) return ok;
    for (const std::uint64_t item_count : bench.items) {
      session.progress().begin(
          std::format("reduce {} of {} {} items", to_string(bench.combine), format_items(item_count), type.name));
      Measurement row = new_row(bench, type, item_count, "library", library_title);
      if (item_count == 0) {
        row.not_timed = "not timed: no items";
      } else {
        expected->advance(item_count);
        if (const Status ok = measure_library(session, bench, type, *expected, true, row); !ok) return ok;
      }
      session.report().measurements.push_back(std::move(row));
    }
  }
  return {};
}

Status run_reduce_ladder(Session& session, const ReduceBench& bench, std::ostream& table) {
  for (const ElementType& type : bench.types) {
    auto expected = RunningReference::create(bench.combine, type);
    if (!expected) return std::unexpected(expected.error());
    if (const Status ok = session.fill_input(*type.scalar); !ok) return ok;
    for (const std::uint64_t item_count : bench.items) {
      std::vector<Measurement> rows;
      if (item_count == 0) {
        rows.push_back(new_row(bench, type, item_count, "library", library_title));
        rows.back().not_timed = "not timed: no items";
      } else {
        expected->advance(item_count);
        if (const Status ok = run_ladder(session, bench, type, item_count, *expected, rows); !ok) return ok;
      }
      print_ladder(table, session.report(), rows);
      auto& all = session.report().measurements;
      all.insert(all.end(), rows.begin(), rows.end());
    }
  }
  return {};
}

}  // namespace upsweep::bench
