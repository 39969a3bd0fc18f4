// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <format>

#include "upsweep/merge_sort.h"

namespace upsweep {

std::string to_string(const MergeSortTuning& tuning) {
  return std::format("sorts {} threads x {} items, merges {} x {}, passes for splits from {} items on",
                     tuning.sort_workgroup_size, tuning.sort_items_per_thread, tuning.merge_workgroup_size,
                     tuning.merge_items_per_thread, tuning.split_pass_items);
}

MergeSortTuning select_merge_sort_tuning(const MergeSortShape& shape, const DeviceTraits& traits) {
  MergeSortTuning tuning;
  const std::uint32_t most_threads = std::bit_floor(traits.max_workgroup_size);
  tuning.sort_workgroup_size = std::min(tuning.sort_workgroup_size, most_threads);
  tuning.merge_workgroup_size = std::min(tuning.merge_workgroup_size, most_threads);
  // About 40 bytes of workgroup memory a thread, so that many threads live on a processor (H200, 2026-12-01, 2^24 u32
  // keys: merges of 7, 9, 11, 13, 17 items a thread 1033, 983, 1014, 1069, 1189 us).
  const std::uint32_t stride = std::max(shape.key.stride_bytes, 4u);
  tuning.sort_items_per_thread = stride <= 4 ? 9 : stride <= 8 ? 5 : stride <= 16 ? 3 : 1;
  tuning.merge_items_per_thread = tuning.sort_items_per_thread;
  const bool has_payload = shape.value.has_value() || shape.write_indices;
  if (traits.adapter_vendor == "nvidia") {
    tuning.split_pass_items = 1u << 20;
    if (!has_payload) tuning.sort_workgroup_size = std::min(512u, most_threads);
  }
  if (traits.is_cpu) {
    // Software devices pay for every thread at a barrier, and compile long kernels slowly.
    tuning.sort_workgroup_size = std::min(tuning.sort_workgroup_size, 64u);
    tuning.merge_workgroup_size = tuning.sort_workgroup_size;
    tuning.sort_items_per_thread = std::min(tuning.sort_items_per_thread, 5u);
    tuning.merge_items_per_thread = tuning.sort_items_per_thread;
  }
  return tuning;
}

}  // namespace upsweep
