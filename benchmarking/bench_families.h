// SPDX-License-Identifier: Apache-2.0
// The benchmarks that there are, one family a primitive.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "benchmarking/bench.h"
#include "benchmarking/ladder_bench.h"
#include "benchmarking/library_bench.h"

namespace upsweep::bench {

// What the user asked for.
struct BenchRequest {
  std::string operation;            // empty: the family's usual ones
  std::vector<ElementType> types;   // empty: the family's usual ones
  std::vector<std::string> tuning;  // "knob=value"
  // Products only.
  std::vector<std::string> matrices = {};
  std::vector<GivenMatrix> given_matrices = {};
  std::vector<std::string> formats = {};
};

// Errors where the family has none of that.
Result<LibraryBenches> reduce_benches(const BenchRequest& request);
Result<LibraryBenches> scan_benches(const BenchRequest& request);
Result<LibraryBenches> select_benches(const BenchRequest& request);
Result<LibraryBenches> unique_benches(const BenchRequest& request);
Result<LibraryBenches> run_length_benches(const BenchRequest& request);
Result<LibraryBenches> reduce_by_key_benches(const BenchRequest& request);
Result<LibraryBenches> sort_benches(const BenchRequest& request);
Result<LibraryBenches> merge_sort_benches(const BenchRequest& request);
Result<LibraryBenches> search_benches(const BenchRequest& request);
Result<LibraryBenches> top_k_benches(const BenchRequest& request);
Result<LibraryBenches> histogram_benches(const BenchRequest& request);
Result<LibraryBenches> spmv_benches(const BenchRequest& request);
Result<LibraryBenches> conjugate_gradient_benches(const BenchRequest& request);
Result<LibraryBenches> pagerank_benches(const BenchRequest& request);
Result<LibraryBenches> csr_statistics_benches(const BenchRequest& request);
Result<LibraryBenches> coo_to_csr_benches(const BenchRequest& request);

Result<Ladders> reduce_ladders(const BenchRequest& request);
Result<Ladders> scan_ladders(const BenchRequest& request);
Result<Ladders> sort_ladders(const BenchRequest& request);
Result<Ladders> histogram_ladders(const BenchRequest& request);
Result<Ladders> spmv_ladders(const BenchRequest& request);

// "u8": items of histograms only.
ElementType byte_type();

}  // namespace upsweep::bench
