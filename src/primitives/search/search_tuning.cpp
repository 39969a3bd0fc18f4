// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <format>

#include "upsweep/search.h"

namespace upsweep {

std::string to_string(SearchBound bound) { return bound == SearchBound::lower ? "lower" : "upper"; }

std::string to_string(const SearchTuning& tuning) {
  return std::format("{} threads x {} queries, {} bytes of samples", tuning.workgroup_size, tuning.queries_per_thread,
                     tuning.sample_bytes);
}

SearchTuning select_search_tuning(const SearchShape& shape, const DeviceTraits& traits) {
  SearchTuning tuning;
  tuning.workgroup_size = std::min(tuning.workgroup_size, std::bit_floor(traits.max_workgroup_size));
  // Few queries: one each, so that all threads of the device have some.
  if (shape.query_count.max < std::uint64_t{1} << 18) {
    tuning.queries_per_thread = 1;
  } else if (traits.adapter_vendor == "nvidia") {
    // H200, 2026-12-01, 2^24 queries in 2^24 items: random ones 3920 us instead of 4504 with 256 threads and 4 KiB,
    // sorted ones 348 instead of 322.
    tuning.workgroup_size = std::min(1024u, std::bit_floor(traits.max_workgroup_size));
    tuning.sample_bytes = 16384;
  }
  if (traits.is_cpu) {
    // Software devices pay for every thread at a barrier.
    tuning.workgroup_size = std::min(tuning.workgroup_size, 64u);
    tuning.queries_per_thread = 2;
  }
  return tuning;
}

}  // namespace upsweep
