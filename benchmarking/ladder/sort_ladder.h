// SPDX-License-Identifier: Apache-2.0
// The optimisation ladder of a sort: the library's own kernels, with what makes them fast switched on one after the
// other.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "upsweep/device_traits.h"
#include "upsweep/sort.h"

namespace upsweep::bench {

enum class SortStep : std::uint8_t {
  digits_of_4_bits,  ///< Three passes a digit, ranks by counters in workgroup memory.
  digits_of_8_bits,  ///< The same with half the digits.
  ballots,           ///< Ranks by ballots of subgroups.
  one_sweep,         ///< One pass a digit, with look-back.
};
constexpr std::array sort_steps{SortStep::digits_of_4_bits, SortStep::digits_of_8_bits, SortStep::ballots,
                                SortStep::one_sweep};

// "one_sweep", for JSON.
std::string_view step_name(SortStep step);
// "one pass a digit, with look-back", for tables.
std::string_view step_title(SortStep step);

// The knobs of a step for a shape.
SortTuning sort_step_tuning(SortStep step, const SortShape& shape, const DeviceTraits& traits);

}  // namespace upsweep::bench
