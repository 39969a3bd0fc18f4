// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/library_bench.h"

#include <algorithm>
#include <format>

namespace upsweep::bench {

Measurement LibraryBench::new_row(std::uint64_t item_count, std::string_view step, std::string_view title) const {
  return {.primitive = primitive_,
          .operation = operation_,
          .type = type_.name,
          .step = std::string(step),
          .title = std::string(title),
          .item_count = item_count,
          .item_bytes = type_.stride_bytes};
}

std::vector<std::uint64_t> LibraryBench::sizes(const std::vector<std::uint64_t>& asked,
                                               const std::vector<std::uint64_t>& usual, const DeviceTraits&) const {
  return asked.empty() ? usual : asked;
}

std::uint64_t most_that_fit(const Session& session, const LibraryBench& bench,
                            const std::vector<std::uint64_t>& items) {
  std::uint64_t most = 0;
  for (const std::uint64_t item_count : items) {
    if (session.fits(bench.words_of(item_count))) most = std::max(most, item_count);
  }
  return most;
}

Status run_sizes(Session& session, LibraryBench& bench, const std::vector<std::uint64_t>& items) {
  const std::uint64_t most = most_that_fit(session, bench, items);
  if (const Status ok = bench.prepare(session, most); !ok) return ok;
  for (const std::uint64_t item_count : items) {
    session.progress().begin(std::format("{} {} of {} {} items", bench.primitive(), bench.operation(),
                                         format_items(item_count), bench.type().name));
    const std::string step = bench.step();
    Measurement row =
        bench.new_row(item_count, step,
                      step == library_step ? std::string(library_title)
                                           : std::format("{} {} {}", bench.primitive(), bench.operation(), step));
    if (item_count == 0) {
      row.not_timed = "not timed: no items";
    } else if (item_count > most) {
      row.not_timed = "larger than the device's largest buffer";
    } else {
      const auto expected = bench.expect(session, item_count);
      if (!expected) return std::unexpected(expected.error());
      expected->describe(row);
      if (row.not_timed = bench.refusal(); !row.not_timed.empty()) {
        session.report().measurements.push_back(std::move(row));
        continue;
      }
      const auto make = [&](std::uint64_t count) { return bench.make(session, count); };
      if (const Status ok = session.measure(row, make, *expected, true); !ok) return ok;
    }
    session.report().measurements.push_back(std::move(row));
  }
  session.drop_buffers();
  return {};
}

}  // namespace upsweep::bench
