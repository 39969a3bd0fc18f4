// SPDX-License-Identifier: Apache-2.0
// The first steps of the ladders: the standard's loops, compiled with -O3 whatever the build type. f32 is
// added in double: a running sum in f32 stops growing at 2^24.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace upsweep::bench {

std::uint32_t cpu_sum(std::span<const std::uint32_t> items);
double cpu_sum(std::span<const float> items);

// std::exclusive_scan. `sums` has as many items.
void cpu_exclusive_sum(std::span<const std::uint32_t> items, std::span<std::uint32_t> sums);
void cpu_exclusive_sum(std::span<const float> items, std::span<float> sums);

// Adds to the counts of even bins of [0, 1); samples outside are left out.
void cpu_histogram(std::span<const float> items, std::span<std::uint32_t> counts);

// A product with a matrix of compressed rows: Eigen's where it was there at build time, else a loop with two sums a
// row, as Eigen has, so that additions need not wait for each other. The title says which.
std::string_view cpu_spmv_title();
inline constexpr std::size_t cpu_spmv_most_entries = 0x7fffffff;
void cpu_spmv(std::span<const std::uint32_t> row_offsets, std::span<const std::uint32_t> columns,
              std::span<const float> values, std::span<const float> x, std::span<float> y);

// std::sort.
void cpu_sort(std::span<std::uint32_t> items);

// std::stable_sort of as many parts as there are threads, merged two by two. `spare` has as many items.
void cpu_stable_sort(std::span<std::uint32_t> items, std::span<std::uint32_t> spare, unsigned thread_count);

}  // namespace upsweep::bench
