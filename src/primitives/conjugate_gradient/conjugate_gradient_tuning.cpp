// SPDX-License-Identifier: Apache-2.0
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

}  // namespace upsweep
