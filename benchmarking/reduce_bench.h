// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iosfwd>
#include <vector>

#include "benchmarking/session.h"

namespace upsweep::bench {

// What to measure, with the defaults filled in.
struct ReduceBench {
  std::vector<ElementType> types;
  BinaryOperator combine;
  std::vector<std::uint64_t> items;
};

// The library at all sizes; fills the report.
Status run_reduce_sizes(Session& session, const ReduceBench& bench);
// The steps of the ladder; prints a table for each type and size as it is done.
Status run_reduce_ladder(Session& session, const ReduceBench& bench, std::ostream& table);

}  // namespace upsweep::bench
