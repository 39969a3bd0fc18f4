// SPDX-License-Identifier: Apache-2.0
// Accumulators that start anew: a value with the number of segments that begin among the items folded into it.
#pragma once

#include <string>

#include "plan/lowering.h"
#include "plan/tile_scan.h"

namespace upsweep {

// Names of the operator's own functions beside those of the pairs.
constexpr OperatorNames segment_operator_names{"InnerAccumulator", "combine_values", "no_value"};

// struct Accumulator { value: InnerAccumulator, heads: u32 }; combine() drops what is in front of a head.
TileAccumulator segmented_accumulator(const LoweredOperator& op, bool is_custom);
std::string segmented_operator(const LoweredOperator& op, bool is_custom);

// scan_rows() of such pairs: ballots find where each lane's segment begins, so that only values are shuffled; counts of
// up to 4 a lane are scanned several rows at once.
std::string segmented_lane_scan(bool is_custom, const ScanTuning& tuning, const DeviceTraits& traits);

}  // namespace upsweep
