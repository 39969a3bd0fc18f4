// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/ladder/cpu_steps.h"

#include <numeric>

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

void cpu_exclusive_sum(std::span<const std::uint32_t> items, std::span<std::uint32_t> sums) {
  std::exclusive_scan(items.begin(), items.end(), sums.begin(), 0u);
}

void cpu_exclusive_sum(std::span<const float> items, std::span<float> sums) {
  std::exclusive_scan(items.begin(), items.end(), sums.begin(), 0.0);
}

void cpu_histogram(std::span<const float> items, std::span<std::uint32_t> counts) {
  const auto bin_count = static_cast<float>(counts.size());
  for (const float item : items) {
    if (item >= 0.0f && item < 1.0f) ++counts[static_cast<std::size_t>(item * bin_count)];
  }
}

}  // namespace upsweep::bench
