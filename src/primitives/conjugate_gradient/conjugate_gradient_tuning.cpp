// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <format>

#include "upsweep/conjugate_gradient.h"

namespace upsweep {

std::string to_string(CgPreconditioner preconditioner) {
  return preconditioner == CgPreconditioner::jacobi ? "jacobi" : "none";
}

std::string to_string(CgStatus status) {
  switch (status) {
    case CgStatus::running: return "running";
    case CgStatus::converged: return "converged";
    case CgStatus::not_positive_definite: return "not_positive_definite";
    case CgStatus::stalled: return "stalled";
    case CgStatus::not_finite: return "not_finite";
  }
  return "?";
}

std::string to_string(const CgTuning& tuning) {
  return std::format("{} threads x {} items, at most {} workgroups{}{}", tuning.workgroup_size, tuning.items_per_thread,
                     tuning.max_workgroups, tuning.use_subgroups ? "" : ", no subgroups",
                     tuning.product ? "; products: " + to_string(*tuning.product) : "");
}

CgTuning select_cg_tuning(const CgShape&, const DeviceTraits& traits) {
  CgTuning tuning;
  tuning.workgroup_size = std::min(tuning.workgroup_size, std::bit_floor(traits.max_workgroup_size));
  if (traits.is_cpu) {
    // Software devices pay for every thread at a barrier, and have few cores to keep busy.
    tuning.workgroup_size = std::min(tuning.workgroup_size, 64u);
    tuning.max_workgroups = 64;
  }
  return tuning;
}

}  // namespace upsweep
