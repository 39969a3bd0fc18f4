// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/ladder_bench.h"

#include <chrono>
#include <format>
#include <new>

namespace upsweep::bench {
namespace {

Status measure_steps(Session& session, const Ladder& ladder, std::uint64_t item_count, bool fits,
                     std::vector<Measurement>& rows) {
  LibraryBench& library = ladder.library();
  Expectation expected;
  if (fits) {
    auto made = library.expect(session, item_count);
    if (!made) return std::unexpected(made.error());
    expected = std::move(*made);
  }
  const auto begin = [&](std::string_view name, std::string_view title) -> Measurement& {
    session.progress().begin(std::format("ladder of {}, {} {} items: {}", library.primitive(), format_items(item_count),
                                         library.type().name, title));
    rows.push_back(library.new_row(item_count, name, title));
    expected.describe(rows.back());
    return rows.back();
  };
  const auto measure_cpu = [&](const CpuStep& step) {
    Measurement& row = begin(step.name, step.title);
    try {
      step.measure(row);
    } catch (const std::bad_alloc&) {
      row.not_timed = "no memory for the items on the host";
    }
  };
  measure_cpu({"cpu", std::string(ladder.cpu_title()), [&](Measurement& row) { ladder.measure_cpu(row); }});
  for (const CpuStep& step : ladder.more_cpu_steps()) measure_cpu(step);
  for (const LadderStep& step : ladder.steps(session)) {
    Measurement& row = begin(step.name, step.title);
    if (!fits) {
      row.not_timed = "larger than the device's largest buffer";
    } else if (!step.refusal.empty()) {
      row.not_timed = step.refusal;
    } else if (const Status ok = session.measure(row, step.make, expected, false); !ok) {
      return ok;
    }
  }
  return {};
}

}  // namespace

Timing time_on_host(const std::function<void()>& work) {
  constexpr double sample_ms = 1;
  constexpr std::uint32_t samples = 5;
  constexpr std::uint32_t most_repeats = 1u << 24;
  const auto run = [&](std::uint32_t repeats) {
    const auto begin = std::chrono::steady_clock::now();
    for (std::uint32_t i = 0; i < repeats; ++i) work();
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
  ms.reserve(samples);
  for (std::uint32_t i = 0; i < samples; ++i) ms.push_back(run(timing.repeats) / timing.repeats);
  timing.ms = spread_of(std::move(ms));
  return timing;
}

Status run_ladder(Session& session, const Ladder& ladder, const std::vector<std::uint64_t>& items,
                  std::ostream& table) {
  LibraryBench& library = ladder.library();
  const std::uint64_t most = most_that_fit(session, library, items);
  if (const Status ok = library.prepare(session, most); !ok) return ok;
  for (const std::uint64_t item_count : items) {
    std::vector<Measurement> rows;
    if (item_count == 0) {
      rows.push_back(library.new_row(item_count, library_step, library_title));
      rows.back().not_timed = "not timed: no items";
    } else if (const Status ok = measure_steps(session, ladder, item_count, item_count <= most, rows); !ok) {
      return ok;
    }
    print_ladder(table, session.report(), rows);
    auto& all = session.report().measurements;
    all.insert(all.end(), rows.begin(), rows.end());
  }
  session.drop_buffers();
  return {};
}

}  // namespace upsweep::bench
