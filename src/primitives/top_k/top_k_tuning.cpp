// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <format>

#include "primitives/top_k/top_k_choice.h"
#include "upsweep/top_k.h"

namespace upsweep {

std::string to_string(TopKOrder order) { return order == TopKOrder::sorted ? "sorted" : "input_order"; }

std::string to_string(const TopKTuning& tuning) {
  return std::format(
      "{} threads x {} items, digits of {} bits, at most {} workgroups, candidates from {} items up to a share of "
      "1/{}, "
      "sort of all up to {} items, compaction {}, sort {}",
      tuning.workgroup_size, tuning.items_per_thread, tuning.digit_bits, tuning.max_workgroups, tuning.candidate_items,
      tuning.candidate_share, tuning.sort_all_items, to_string(tuning.compaction), to_string(tuning.sort));
}

TopKTuning select_top_k_tuning(const TopKShape& shape, const DeviceTraits& traits) {
  TopKTuning tuning;
  const std::uint64_t items = shape.item_count.max;
  const std::uint32_t key_bytes = shape.key.is_64_bit() ? 8 : 4;
  const std::uint32_t most_threads = std::bit_floor(traits.max_workgroup_size);
  tuning.workgroup_size = std::min(tuning.workgroup_size, most_threads);
  tuning.compaction = select_marking_tuning(key_bytes, items, traits);
  if (traits.is_cpu) {
    tuning.workgroup_size = 64;
    tuning.max_workgroups = 64;
  }
  // candidate_items (H200, 2026-12-01, 1024 of u32 in us, with and without candidates): 2^20 67.6, 58.5;
  // 2^22 76.4, 74.2; 2^24 122.5, 161.8.
  if (traits.adapter_vendor == "nvidia") {
    // As histograms of 4096 bins: fewer workgroups have fewer counts to add (H200, 2026-12-01, 1024 of 2^26 u32: with
    // 512 threads 282 us, with 256 and twice the workgroups 366, with half as many threads in all 362).
    tuning.workgroup_size = std::min(1024u, most_threads);
    tuning.max_workgroups = 264;
  }
  const auto sort_of = [&](std::uint64_t count) {
    SortShape sorted{.item_count = Count::on_host(count), .key = shape.key, .descending = shape.largest};
    if (shape.value || shape.write_indices || shape.key.scalar == Scalar::f16) sorted.value = ElementType::u32();
    return select_sort_tuning(sorted, traits);
  };
  tuning.sort = sort_of(std::min(shape.k.max, items));
  tuning.sort_all_items = std::min(tuning.sort_all_items, tuning.sort.one_workgroup_items);
  // H200, 2026-12-01, u32: at 2^18 a sort of all takes 37 us, 16 of them by digits 42, 65536 of them 63; at 2^20 53, 47
  // and 68.
  if (traits.adapter_vendor == "nvidia") tuning.sort_all_items = 1u << 18;
  if (sorts_all(shape, tuning)) tuning.sort = sort_of(items);
  return tuning;
}

}  // namespace upsweep
