// SPDX-License-Identifier: Apache-2.0
// The knobs of iterations around a sparse product: conjugate gradients and PageRank.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "upsweep/device_traits.h"
#include "upsweep/spmv.h"

namespace upsweep {

/// Planners cut what does not fit the device.
struct SolverTuning {
  std::uint32_t workgroup_size = 256;  ///< Threads; a power of two.
  std::uint32_t items_per_thread = 4;  ///< Loads of each vector that are on their way together, 1 to 16.
  std::uint32_t max_workgroups = 528;  ///< Of passes over vectors; each folds as many partial sums. At most 4096.
  bool use_subgroups = true;           ///< Where the device has them.
  std::optional<SpmvTuning> product = std::nullopt;

  bool operator==(const SolverTuning&) const = default;
};
[[nodiscard]] std::string to_string(const SolverTuning& tuning);
/// The library's choice of knobs.
[[nodiscard]] SolverTuning select_solver_tuning(const DeviceTraits& traits);

}  // namespace upsweep
