// SPDX-License-Identifier: Apache-2.0
// The first step of the ladder: a plain loop on one thread, compiled with -O3 whatever the build type.
#pragma once

#include <cstdint>
#include <span>

namespace upsweep::bench {

std::uint32_t cpu_sum(std::span<const std::uint32_t> items);
// In double: a running sum in f32 stops growing at 2^24.
double cpu_sum(std::span<const float> items);

}  // namespace upsweep::bench
