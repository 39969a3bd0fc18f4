// SPDX-License-Identifier: Apache-2.0
// The optimisation ladder of a histogram: even bins of f32 samples in [0, 1). Slower than the library by design; right
// all the same, and tested. And the samples of the benchmark, alike on host and device.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "benchmarking/input.h"
#include "upsweep/device_traits.h"
#include "upsweep/plan.h"
#include "upsweep/status.h"

namespace upsweep::bench {

enum class HistogramStep : std::uint8_t {
  atomic,     ///< One atomic addition to the output a sample.
  workgroup,  ///< Atomic counters in workgroup memory.
  threads,    ///< Counters of each thread in workgroup memory, a byte each.
};
constexpr std::array histogram_steps{HistogramStep::atomic, HistogramStep::workgroup, HistogramStep::threads};

// "workgroup", for JSON.
std::string_view step_name(HistogramStep step);
// "counters in workgroup memory", for tables.
std::string_view step_title(HistogramStep step);

// Counts `item_count` samples (at least one) of argument `input` into `bin_count` (a power of two, at least 4) counts
// in `output`. Views must begin at multiples of 256 bytes. Threads of a workgroup are a power of two.
Result<Plan> plan_histogram_step(HistogramStep step, std::uint32_t bin_count, std::uint64_t item_count,
                                 const DeviceTraits& traits,
                                 std::optional<std::uint32_t> workgroup_size = std::nullopt);

enum class Samples : std::uint8_t {
  uniform,
  constant,  ///< All 0.3125.
  sorted,    ///< Ascending from 0; the last is at least 0.5.
  skewed,    ///< Half of them below 1/256.
};
constexpr std::array sample_kinds{Samples::uniform, Samples::constant, Samples::sorted, Samples::skewed};
std::string_view to_string(Samples samples);

// Item i of `item_count`, in units of 2^-24.
constexpr std::uint32_t sample_units(Samples samples, std::uint32_t i, std::uint64_t item_count) {
  const std::uint32_t hash = input_hash(i);
  switch (samples) {
    case Samples::uniform: return hash >> 8;
    case Samples::constant: return 0x500000;
    case Samples::sorted: break;
    case Samples::skewed: return (hash >> 8) >> (hash & 15);
  }
  const auto bits = static_cast<std::uint32_t>(std::bit_width(item_count - 1));
  return bits > 24 ? i >> (bits - 24) : i << (24 - bits);
}

// How many of the samples are in each of even bins of [0, 1), a power of two.
std::vector<std::uint32_t> count_samples(Samples samples, std::uint32_t bin_count, std::uint64_t item_count);

// Fills argument `output` with samples.
Result<Plan> plan_samples(Samples samples, std::uint64_t item_count, const DeviceTraits& traits);

}  // namespace upsweep::bench
