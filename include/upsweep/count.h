// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace upsweep {

/// How many items: known on the host, or read on the device from a buffer when the commands run.
struct Count {
  std::uint64_t max = 0;  ///< The count, or its upper bound when it is read on the device.
  bool read_on_device = false;

  bool operator==(const Count&) const = default;

  /// Part of the plan: a number that was not recorded before makes a new plan, about a millisecond of the host. For
  /// counts that change every frame: on_device() with a bound that stays.
  static Count on_host(std::uint64_t count) { return {count, false}; }
  /// The count is a u32 in the buffer argument `item_count`; larger values are taken as `max`.
  static Count on_device(std::uint64_t max) { return {max, true}; }
};

}  // namespace upsweep
