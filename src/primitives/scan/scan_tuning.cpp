// SPDX-License-Identifier: Apache-2.0
#include "upsweep/scan_tuning.h"

#include <algorithm>
#include <bit>
#include <format>

#include "plan/grid.h"

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
  return std::format(
      "{} threads x {} {}{}, path {}{}, at most {} workgroups, one workgroup up to {} items, {} polls",
      tuning.workgroup_size, tuning.rows, tuning.use_vectors ? "vectors" : "items",
      tuning.use_subgroups ? "" : ", no subgroups", to_string(tuning.path), tuning.in_order ? " in order" : "",
      tuning.max_workgroups,
      tuning.one_workgroup_items, tuning.poll_rounds);
}

ScanTuning select_scan_tuning(std::uint32_t item_bytes, std::uint64_t item_count, const DeviceTraits& traits) {
  ScanTuning tuning;
  tuning.workgroup_size = std::min(tuning.workgroup_size, std::bit_floor(traits.max_workgroup_size));
  // 128 bytes in flight a thread (H200, 2026-11-30, u32 at 2^26: 8 vectors 0.156 ms, 4 vectors 0.168); fewer where a
  // tile more for each multiprocessor matters more.
  tuning.rows = item_bytes >= 128 ? 1 : item_bytes > 16 ? std::max(1u, 128 / std::bit_ceil(item_bytes)) : 8;
  if (item_count <= std::uint64_t{1} << 21) tuning.rows = std::min(tuning.rows, 4u);
  if (traits.is_cpu) {
    // Software devices compile long kernels slowly and pay for every barrier.
    tuning.rows = std::min(tuning.rows, 2u);
    tuning.max_workgroups = 64;
  }
  // Seen to start workgroups in order.
  tuning.in_order = traits.adapter_vendor == "nvidia";
  return tuning;
}

std::uint64_t flag_bytes(FlagFormat format, std::uint64_t item_count) {
  const std::uint64_t items_per_word = format == FlagFormat::words ? 1 : format == FlagFormat::bytes ? 4 : 32;
  return div_ceil(item_count, items_per_word) * 4;
}

}  // namespace upsweep
