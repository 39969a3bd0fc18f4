// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace upsweep::bench {

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  const double median = values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
  return {median, values.front(), values.back(), values.size()};
}

std::uint64_t common_quantum(std::uint64_t a, std::uint64_t b) { return std::gcd(a, b); }

std::uint64_t timestamp_quantum(std::span<const std::uint64_t> timestamps) {
  std::uint64_t quantum = 0;
  for (const std::uint64_t stamp : timestamps) {
    quantum = std::gcd(quantum, stamp > timestamps[0] ? stamp - timestamps[0] : timestamps[0] - stamp);
  }
  return quantum;
}

std::vector<double> pair_milliseconds(std::span<const std::uint64_t> timestamps) {
  std::vector<double> result;
  for (std::size_t i = 0; i + 1 < timestamps.size(); i += 2) {
    if (timestamps[i + 1] < timestamps[i]) continue;
    result.push_back(static_cast<double>(timestamps[i + 1] - timestamps[i]) * 1e-6);
  }
  return result;
}

std::uint32_t next_repeats(std::uint32_t repeats, double total_ms, double target_ms, std::uint32_t most) {
  if (total_ms >= target_ms || repeats >= most) return repeats;
  const double wanted = total_ms > 0 ? repeats * 1.1 * target_ms / total_ms : 16.0 * repeats;
  const double bounded = std::clamp(std::ceil(wanted), repeats + 1.0, 16.0 * repeats);
  return static_cast<std::uint32_t>(std::min<double>(bounded, most));
}

double gb_per_s(std::uint64_t bytes, double milliseconds) {
  return milliseconds > 0 ? static_cast<double>(bytes) / (milliseconds * 1e6) : 0.0;
}

}  // namespace upsweep::bench
