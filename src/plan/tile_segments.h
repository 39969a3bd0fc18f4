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

// For scan_rows() of other accumulators: start_lane(lanes, lane), the last of the lanes up to `lane` that is set, or 0;
// and statements that scan the counts `count_of(k)`: c{k} before the lane in row k, n{k} in the whole row.
std::string start_lane_function(const DeviceTraits& traits);
std::string packed_count_scan(std::uint32_t rows, const DeviceTraits& traits, std::string_view member);

}  // namespace upsweep
