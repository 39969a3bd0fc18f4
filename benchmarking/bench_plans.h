// SPDX-License-Identifier: Apache-2.0
// Plans of the benchmarks' own kernels. Pure, like the library's planners.
#pragma once

#include <cstdint>
#include <string_view>

#include "benchmarking/input.h"
#include "plan/kernel_builder.h"
#include "upsweep/device_traits.h"
#include "upsweep/plan.h"
#include "upsweep/status.h"

namespace upsweep::bench {

// Fills argument `output` with an input (input.h).
Result<Plan> plan_fill(std::uint64_t item_count, InputKind kind, const DeviceTraits& traits);
Result<Plan> plan_fill_runs(const Runs& runs, const DeviceTraits& traits);

// Fills argument `output` with one word.
Result<Plan> plan_poison(std::uint64_t word_count, std::uint32_t word, const DeviceTraits& traits);

// Copies `word_count` words (a multiple of 4) of argument `input` to `output` with so many workgroups.
Result<Plan> plan_copy(std::uint64_t word_count, std::uint64_t workgroup_count, const DeviceTraits& traits);

// Reads `word_count` words (a multiple of 4) of `input`; one partial sum a workgroup goes to `output`.
constexpr std::uint32_t read_units_per_thread = 8;  // of 16 bytes, in one round
Result<Plan> plan_read(std::uint64_t word_count, std::uint64_t workgroup_count, const DeviceTraits& traits);

// One workgroup of dependent multiplications; writes `probe_bytes` to `output`.
Result<Plan> plan_probe(std::uint32_t multiply_count, const DeviceTraits& traits);
constexpr std::uint64_t probe_bytes = 256;

std::uint32_t bench_workgroup_size(const DeviceTraits& traits);

// Beginning of a kernel of the benchmarks' own: the file `name`.wgsl, one thread an item of the grid.
KernelBuilder bench_kernel(std::string_view name, std::uint32_t workgroup_size, std::uint32_t workgroup_bytes = 0);

}  // namespace upsweep::bench
