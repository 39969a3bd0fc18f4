// SPDX-License-Identifier: Apache-2.0
// What every ladder tells the benchmark, and the run over its steps and sizes.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarking/library_bench.h"

namespace upsweep::bench {

struct LadderStep {
  std::string_view name;     // for JSON
  std::string_view title;    // for tables
  std::string refusal = {};  // why it is not to be had here
  std::function<Result<Work>(std::uint64_t)> make = {};
};

struct CpuStep {
  std::string_view name;
  std::string title;
  std::function<void(Measurement&)> measure;
};

// The steps from the naive kernel to the library's, on the library's own inputs and with the same checks.
class Ladder {
 public:
  explicit Ladder(std::unique_ptr<LibraryBench> library) : library_(std::move(library)) {}
  virtual ~Ladder() = default;
  Ladder(const Ladder&) = delete;
  Ladder& operator=(const Ladder&) = delete;

  [[nodiscard]] LibraryBench& library() const { return *library_; }
  [[nodiscard]] virtual std::string_view cpu_title() const = 0;
  // The same work on the host: times and checks it. May throw std::bad_alloc.
  virtual void measure_cpu(Measurement& row) const = 0;
  // Further steps on the host; their names begin with "cpu_".
  [[nodiscard]] virtual std::vector<CpuStep> more_cpu_steps() const { return {}; }
  // All steps on the device, the library last.
  [[nodiscard]] virtual std::vector<LadderStep> steps(Session& session) const = 0;

 private:
  std::unique_ptr<LibraryBench> library_;
};
using Ladders = std::vector<std::unique_ptr<Ladder>>;

// Samples of at least a millisecond of whole runs of `work`.
Timing time_on_host(const std::function<void()>& work);

// Prints a table for each size as it is done; fills the report.
Status run_ladder(Session& session, const Ladder& ladder, const std::vector<std::uint64_t>& items, std::ostream& table);

}  // namespace upsweep::bench
