// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/ladder/cpu_sum.h"

namespace upsweep::bench {

std::uint32_t cpu_sum(std::span<const std::uint32_t> items) {
  std::uint32_t sum = 0;
  for (const std::uint32_t item : items) sum += item;
  return sum;
}

double cpu_sum(std::span<const float> items) {
  double sum = 0;
  for (const float item : items) sum += item;
  return sum;
}

}  // namespace upsweep::bench
