// SPDX-License-Identifier: Apache-2.0
#include "upsweep/pagerank.h"

namespace upsweep {

std::string to_string(PagerankStatus status) {
  switch (status) {
    case PagerankStatus::running: return "running";
    case PagerankStatus::converged: return "converged";
    case PagerankStatus::not_finite: return "not_finite";
  }
  return "?";
}

}  // namespace upsweep
