// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <format>

#include "upsweep/merge.h"

namespace upsweep {

std::string to_string(const MergeTuning& tuning) {
  return std::format("{} threads x {} items, a pass for splits from {} items on", tuning.workgroup_size,
                     tuning.items_per_thread, tuning.split_pass_items);
}

MergeTuning select_merge_tuning(const MergeShape& shape, const DeviceTraits& traits) {
  MergeTuning tuning;
  tuning.workgroup_size = std::min(tuning.workgroup_size, std::bit_floor(traits.max_workgroup_size));
  // About 40 bytes of workgroup memory a thread, so that many threads live on a processor.
  const std::uint32_t stride = std::max(shape.key.stride_bytes, 4u);
  tuning.items_per_thread = stride <= 4 ? 9 : stride <= 8 ? 5 : stride <= 16 ? 3 : 1;
  if (traits.adapter_vendor == "nvidia") tuning.split_pass_items = 1u << 20;
  if (traits.is_cpu) {
    // Software devices pay for every thread at a barrier, and compile long kernels slowly.
    tuning.workgroup_size = std::min(tuning.workgroup_size, 64u);
    tuning.items_per_thread = std::min(tuning.items_per_thread, 5u);
  }
  return tuning;
}

}  // namespace upsweep
