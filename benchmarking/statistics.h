// SPDX-License-Identifier: Apache-2.0
// The arithmetic of timing; no device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace upsweep::bench {

struct Spread {
  double median = 0;
  double min = 0;
  double max = 0;
  std::size_t count = 0;
};

// Of no values at all: zeros.
Spread spread_of(std::vector<double> values);

// The largest step, in nanoseconds, that all differences of the timestamps are multiples of: 65 536 with Dawn's
// quantisation, the device's own tick without. 0 if the timestamps do not differ.
std::uint64_t timestamp_quantum(std::span<const std::uint64_t> timestamps);

// The quantum that fits two sets of timestamps.
std::uint64_t common_quantum(std::uint64_t a, std::uint64_t b);

// From (begin, end) pairs in nanoseconds. Pairs that run backwards are left out: drivers have given them.
std::vector<double> pair_milliseconds(std::span<const std::uint64_t> timestamps);

// How often to repeat work for a total of `target_ms`, after `repeats` of it took `total_ms`; at most `most`. Growth by
// at most 16 keeps one odd reading, or one of 0, from setting the count. Returns `repeats` when that is enough.
std::uint32_t next_repeats(std::uint32_t repeats, double total_ms, double target_ms, std::uint32_t most);

// 0 where there is no time.
double gb_per_s(std::uint64_t bytes, double milliseconds);

}  // namespace upsweep::bench
