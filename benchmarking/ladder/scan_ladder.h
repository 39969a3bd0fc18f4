// SPDX-License-Identifier: Apache-2.0
// The optimisation ladder of an exclusive sum. The textbooks' scans of one workgroup become scans of any length by the
// same recursion: scan each tile, scan the totals of the tiles, add. Slower than the library by design; right for every
// subgroup size all the same, and tested.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "upsweep/device_traits.h"
#include "upsweep/element.h"
#include "upsweep/plan.h"
#include "upsweep/scan.h"
#include "upsweep/status.h"

namespace upsweep::bench {

enum class ScanStep : std::uint8_t {
  blelloch,          ///< Up-sweep and down-sweep in workgroup memory, two items a thread.
  blelloch_padded,   ///< The same, padded against bank conflicts.
  kogge_stone,       ///< Doubling distances in workgroup memory, one item a thread.
  subgroups,         ///< Subgroup operations and one barrier, one item a thread.
  subgroup_vectors,  ///< The same with four items a thread.
  three_phase,       ///< Reduce tiles, scan the totals, scan the tiles from there: the items are written once.
};
constexpr std::array scan_steps{ScanStep::blelloch,  ScanStep::blelloch_padded,  ScanStep::kogge_stone,
                                ScanStep::subgroups, ScanStep::subgroup_vectors, ScanStep::three_phase};

// "blelloch_padded", for JSON.
std::string_view step_name(ScanStep step);
// "Blelloch, padded", for tables.
std::string_view step_title(ScanStep step);

// output[i] = input[0] + ... + input[i - 1] for `item_count` items (at least one) of u32 or f32, in arguments `input`
// and `output`. Both need whole 16-byte units: up to three more words than items, whose values do not matter; those of
// the output may be overwritten. Views must begin at multiples of 256 bytes. `workgroup_size` is a power of two; the
// default is 256, or what the device has. three_phase uses subgroups where there are any, else Kogge and Stone's scan.
Result<Plan> plan_scan_step(ScanStep step, const ElementType& type, std::uint64_t item_count,
                            const DeviceTraits& traits, std::optional<std::uint32_t> workgroup_size = std::nullopt);

// What the library itself can do, after the steps.
struct LibraryScan {
  std::string_view name;
  std::string_view title;
  ScanPath path;
};
constexpr std::array library_scans{
    LibraryScan{"library_two_pass", "the library, two passes", ScanPath::two_pass},
    LibraryScan{"library_single_pass", "the library, one pass", ScanPath::single_pass},
};

}  // namespace upsweep::bench
