// SPDX-License-Identifier: Apache-2.0
// Benchmarks of the primitives: what `upsweep bench` runs. README.md says what is measured and how.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "benchmarking/sparse_matrices.h"
#include "upsweep/context.h"
#include "upsweep/status.h"

namespace upsweep::bench {

/// A matrix of the user's, for products.
struct GivenMatrix {
  std::string name;
  std::shared_ptr<const CsrMatrix> matrix;
};

struct BenchOptions {
  std::vector<std::string> names;     ///< Primitives; empty: all.
  bool ladder = false;                ///< The steps of the optimisation ladder instead of the library's choice alone.
  bool quick = false;                 ///< The ladder at one size that suits the adapter.
  std::vector<std::uint64_t> items;   ///< Empty: 2^10 to 2^28 (CPU adapters 2^24); three of them for the ladder.
  std::vector<std::string> types;     ///< u32, i32, f32, u64. Empty: those that the peers have; u32 for the ladder.
  std::string operation;              ///< reduce: an operator's name; scan: exclusive_sum, ... Empty: the usual ones.
  std::uint32_t samples = 15;         ///< At most; CPU adapters take fewer.
  std::string json_path;              ///< Empty: no file.
  std::vector<std::string> matrices;  ///< spmv: names; empty: all that are made, unless some are given.
  std::vector<GivenMatrix> given_matrices;  ///< spmv: beside those.
  std::vector<std::string> formats;         ///< spmv: csr, ell ...; empty: csr.
  std::vector<std::string> tuning;          ///< Changes of the library's tuning: "knob=value".
};

/// Runs, prints tables to `table` and one line now and then to `progress`, and writes the JSON file. For exact times
/// make the context with AdapterRequest::exact_timestamps. An error if something cannot be run at all or if a result
/// was wrong; sizes that do not fit the device are rows without a time.
Status run_bench(Context& context, const BenchOptions& options, std::ostream& table, std::ostream& progress);

/// Whether run_bench() takes the options, as far as that can be told without a device. Of several types one is enough.
Status check_options(const BenchOptions& options);

/// The primitives that have a benchmark, and those of them that have a ladder.
std::vector<std::string> bench_names();
std::vector<std::string> ladder_names();

}  // namespace upsweep::bench
