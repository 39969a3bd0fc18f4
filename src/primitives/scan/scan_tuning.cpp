// SPDX-License-Identifier: Apache-2.0
#include "upsweep/scan_tuning.h"

#include <algorithm>
#include <bit>
#include <format>

#include "plan/grid.h"
#include "plan/tile_items.h"

namespace upsweep {

std::string to_string(ScanPath path) {
  switch (path) {
    case ScanPath::automatic: return "automatic";
    case ScanPath::two_pass: return "two_pass";
    case ScanPath::single_pass: return "single_pass";
  }
  return "?";
}

std::string to_string(const ScanTuning& tuning) {
  return std::format("{} threads x {} {}{}, path {}{}, at most {} workgroups, one workgroup up to {} items, {} polls",
                     tuning.workgroup_size, tuning.rows, tuning.use_vectors ? "vectors" : "items",
                     tuning.use_subgroups ? "" : ", no subgroups", to_string(tuning.path),
                     tuning.in_order ? " in order" : "", tuning.max_workgroups, tuning.one_workgroup_items,
                     tuning.poll_rounds);
}

ScanTuning select_scan_tuning(std::uint32_t item_bytes, std::uint64_t item_count, const DeviceTraits& traits) {
  ScanTuning tuning;
  tuning.workgroup_size = std::min(tuning.workgroup_size, std::bit_floor(traits.max_workgroup_size));
  // Bytes in flight a thread against tiles to keep every multiprocessor busy: three classes, since each is a pipeline
  // of its own (H200, 2026-11-30, u32, back to back: at 2^16 6.6 us with 2 vectors, 8.0 with 6; at 2^22 15.5 with 6,
  // 16.3 with 10; at 2^26 149 with 10, 156 with 8, 176 with 4).
  tuning.rows = item_count <= std::uint64_t{1} << 18 ? 2 : item_count <= std::uint64_t{1} << 22 ? 6 : 10;
  tuning.rows = std::clamp(160 / std::max(16u, std::bit_ceil(item_bytes)), 1u, tuning.rows);
  if (traits.is_cpu) {
    // Software devices compile long kernels slowly and pay for every barrier.
    tuning.rows = std::min(tuning.rows, 2u);
    tuning.max_workgroups = 64;
  }
  // Seen to start workgroups in order.
  tuning.in_order = traits.adapter_vendor == "nvidia";
  return tuning;
}

ScanTuning select_marking_tuning(std::uint32_t item_bytes, std::uint64_t item_count, const DeviceTraits& traits) {
  ScanTuning tuning = select_scan_tuning(item_bytes, item_count, traits);
  // H200, 2026-11-30, select at 2^22: 16.0 us with 8 vectors, 18.5 with 6; at 2^18 7.9 with 4, 7.8 with 2.
  tuning.rows = tuning.rows > 2 ? std::min(8u, std::max(1u, 128 / std::max(16u, item_bytes))) : tuning.rows;
  return tuning;
}

std::uint64_t flag_bytes(FlagFormat format, std::uint64_t item_count) {
  return div_ceil(item_count, items_per_flag_word(format)) * 4;
}

}  // namespace upsweep
