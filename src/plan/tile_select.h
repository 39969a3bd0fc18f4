// SPDX-License-Identifier: Apache-2.0
// What select, partition and the primitives on runs share: units whose items are marked, and the stores of marked
// items.
#pragma once

#include <cstdint>
#include <string>

#include "plan/kernel_builder.h"
#include "plan/tile_items.h"
#include "plan/tile_scan.h"
#include "upsweep/device_traits.h"

namespace upsweep {

// Units of raw items with a mask (bit k: item k is marked; only items of the row). `mask_text` declares
//   item_mask(loaded: Loaded, unit, range) -> u32    whatever it gives for items outside the row
// With `sees_before` Loaded holds, beside `items`, `before`: the item in front of the unit's first.
// A second mask may lie in bits 4 to 7. unit_total() is left to the caller unless `counts`: then it is the number of
// marked items.
void add_marked_units(KernelBuilder& builder, const TileItems& items, std::string_view mask_text, bool sees_before,
                      bool counts);

// The previous item, as RawItem, of item k of a Loaded.
std::string item_before(const TileItems& items, const std::string& loaded, std::uint32_t k);

// Stores of marked items where the prefix is their number: to `output` (binding 3) as items, to `indices` (binding 8)
// as their numbers. Words go through workgroup memory, so that stores are coalesced; others go one by one.
struct SelectSink {
  bool write_items = true;
  bool write_indices = false;
  // Items of workgroup memory a thread; 0: one by one.
  std::uint32_t stage_per_thread = 0;
  bool stages_early = false;  // as TileProgram::stages_early, if there is a stage
  std::string at_start = {};  // statements with which store_tile() begins
};
SelectSink choose_select_sink(const TileItems& items, bool write_items, bool write_indices, const ScanTuning& tuning,
                              const DeviceTraits& traits, std::uint32_t other_workgroup_bytes);
void add_select_sink(KernelBuilder& builder, const TileItems& items, const SelectSink& sink, const ScanTuning& tuning);

// Begins a loop over those of the first `staged_count` slots of a stage that are a thread's, `i`. Its length is a
// constant, so that it unrolls: select at 2^26 took 148 us instead of 153 on an H200, run lengths 180 instead of 190.
// Not with all loads in front: run lengths took 116 registers then, and 216 us.
inline constexpr std::string_view each_staged_text =
    "    for (var k = 0u; k < STAGE / WORKGROUP_SIZE; k++) {\n"
    "      let i = thread.index + k * WORKGROUP_SIZE;\n"
    "      if (i >= staged_count) { break; }\n";

// Items of workgroup memory a thread where pairs of words, one a run, are staged; 0 where they do not fit or do not
// pay.
std::uint32_t choose_pair_stage(const TileItems& items, const TileAccumulator& accumulator, const ScanTuning& tuning,
                                const DeviceTraits& traits, std::uint32_t wanted = 5);

// Tile, load_tile(), Rows, ... of marked units whose masks and counts lie packed in few registers.
std::string marked_tile(std::uint32_t rows, bool lanes, const DeviceTraits& traits);

// The same where the accumulator is vec2u(marked items, index + 1 of the last of them); row_beforeK() gives counts.
std::string run_tile(std::uint32_t rows, bool lanes, const DeviceTraits& traits);

// The expression of the mask of row k of such a `tile`.
std::string mask_of(std::uint32_t k);
// Of load_tile(): opens the block for tiles that are `full`, or the rest, and loads all rows, l0, l1, ...
std::string load_rows_text(std::uint32_t rows, bool full);

// Counts: Accumulator u32 with sums.
void add_count_types(KernelBuilder& builder);
TileAccumulator count_accumulator();

// store_total() that writes the count to `count` (binding 6), and with `dispatch_threads` the grid of the next dispatch
// to `dispatch_arguments` (binding 14).
void add_count_total(KernelBuilder& builder, std::uint32_t dispatch_threads, const DeviceTraits& traits);

}  // namespace upsweep
