// SPDX-License-Identifier: Apache-2.0
#include "upsweep/solver_tuning.h"

#include <algorithm>
#include <bit>
#include <format>

namespace upsweep {

std::string to_string(const SolverTuning& tuning) {
  return std::format("{} threads x {} items, at most {} workgroups{}{}", tuning.workgroup_size, tuning.items_per_thread,
                     tuning.max_workgroups, tuning.use_subgroups ? "" : ", no subgroups",
                     tuning.product ? "; products: " + to_string(*tuning.product) : "");
}

SolverTuning select_solver_tuning(const DeviceTraits& traits) {
  SolverTuning tuning;
  tuning.workgroup_size = std::min(tuning.workgroup_size, std::bit_floor(traits.max_workgroup_size));
  if (traits.is_cpu) {
    // Software devices pay for every thread at a barrier, and have few cores to keep busy.
    tuning.workgroup_size = std::min(tuning.workgroup_size, 64u);
    tuning.max_workgroups = 64;
  }
  return tuning;
}

}  // namespace upsweep
