// SPDX-License-Identifier: Apache-2.0
// Accumulators that start anew: a value with the number of segments that begin among the items folded into it.
#pragma once

#include <string>

#include "plan/lowering.h"
#include "plan/tile_items.h"
#include "plan/tile_scan.h"

namespace upsweep {

// Names of the operator's own functions beside those of the pairs.
constexpr OperatorNames segment_operator_names{"InnerAccumulator", "combine_values", "no_value"};

// struct Accumulator { value: InnerAccumulator, heads: u32 }; combine() drops what is in front of a head.
TileAccumulator segmented_accumulator(const LoweredOperator& op, bool is_custom);
std::string segmented_operator(const LoweredOperator& op, bool is_custom);

// start_lane(lanes, lane): the last of `lanes` up to `lane`, or 0; scan_segments(value, start, thread, workgroup):
// inclusive, each lane from its start on; by shuffles. With `lanes`, the size of all subgroups, it is unrolled:
// NVIDIA's driver does not (H200, 2026-12-01: reduction by key 277 us instead of 291 at 2^26).
std::string segment_scan_text(bool is_custom, const DeviceTraits& traits, std::uint32_t lanes = 0);

// scan_rows() of such pairs: ballots find where each lane's segment begins, so that only values are shuffled; counts of
// up to 4 a lane are scanned several rows at once.
std::string segmented_lane_scan(bool is_custom, const ScanTuning& tuning, const DeviceTraits& traits);

// Tile, load_tile(), Rows, ... of units v0, v1, ... with `heads`, where whole subgroups scan by shuffles; masks of
// heads lie packed in few registers (mask_of()), and nothing counts heads. Needs load_unit() and the like, and
// unit_total().
std::string segmented_tile(std::uint32_t unit_items, bool is_custom, const ScanTuning& tuning,
                           const DeviceTraits& traits);
// store_tile() of such a tile, by store_unit().
std::string segmented_store(std::uint32_t unit_items, const ScanTuning& tuning);

// Sums that wrap: struct Accumulator { sum, heads, last }; `last` is the sum of what lies before the last head, so that
// sums of segments are differences. combine() and identity(), and sum_to_head(), which is `last` of a unit.
TileAccumulator difference_accumulator(const LoweredOperator& op);
std::string difference_operator();

// Tile, load_tile(), Rows, ... of units of keys and values, up to 8 rows. A Tile has the raw keys uK, the values xK_J
// as InnerAccumulators and the masks of heads (mask_of()); row_sumK(rows) and row_beforeK(rows) are what lies in front
// of row K. Needs load_items(), load_edge_items(), load_before(unit, range) -> RawItem, heads_of(); load_values(unit,
// range), load_edge_values(unit, value_ends, range) -> ValueUnit, load_value_ends(range); value_itemJ(values, unit,
// range) -> InnerAccumulator, keep_inside(value, is_kept); inside_mask(unit, range) -> u32.
std::string difference_tile(const TileItems& keys, const TileAccumulator& accumulator, const ScanTuning& tuning,
                            bool lanes, const DeviceTraits& traits);

}  // namespace upsweep
