// SPDX-License-Identifier: Apache-2.0
// Benchmarks of the primitives: what `upsweep bench` runs. README.md says what is measured and how.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "upsweep/context.h"
#include "upsweep/reduce.h"
#include "upsweep/status.h"

namespace upsweep::bench {

struct BenchOptions {
  std::vector<std::string> names;    ///< Primitives; empty: all.
  bool ladder = false;               ///< The steps of the optimisation ladder instead of the library's choice alone.
  bool quick = false;                ///< The ladder at one size that suits the adapter.
  std::vector<std::uint64_t> items;  ///< Empty: 2^10 to 2^28 (CPU adapters 2^24); three of them for the ladder.
  std::vector<std::string> types;    ///< u32, i32, f32. Empty: u32 for the ladder, else u32 and f32.
  std::string operation;             ///< An operator's name; empty: sum. The ladder sums only.
  std::uint32_t samples = 15;        ///< At most; CPU adapters take fewer.
  std::string json_path;             ///< Empty: no file.
  std::optional<ReduceTuning> tuning;
};

/// Runs, prints tables to `table` and one line now and then to `progress`, and writes the JSON file. For exact times
/// make the context with AdapterRequest::exact_timestamps. An error if something cannot be run at all or if a result
/// was wrong; sizes that do not fit the device are rows without a time.
Status run_bench(Context& context, const BenchOptions& options, std::ostream& table, std::ostream& progress);

/// The primitives that have a benchmark.
std::vector<std::string> bench_names();

}  // namespace upsweep::bench
