// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <format>

#include "upsweep/sort.h"

namespace upsweep {

std::string to_string(SortPath path) {
  switch (path) {
    case SortPath::automatic: return "automatic";
    case SortPath::three_pass: return "three_pass";
    case SortPath::single_pass: return "single_pass";
  }
  return "?";
}

std::string to_string(const SortTuning& tuning) {
  return std::format(
      "{} threads x {} items, digits of {} bits, {} rounds{}{}, path {}{}{}, {} polls of {} records, "
      "at most {} workgroups, one workgroup up to {} items",
      tuning.workgroup_size, tuning.items_per_thread, tuning.digit_bits, tuning.stage_rounds,
      tuning.use_subgroups ? "" : ", no subgroups", tuning.lock_step ? ", lock-step" : "", to_string(tuning.path),
      tuning.look_back_late ? "" : ", early look-back", tuning.in_order ? ", in order" : "", tuning.poll_rounds,
      tuning.look_records, tuning.max_workgroups, tuning.one_workgroup_items);
}

SortTuning select_sort_tuning(const SortShape& shape, const DeviceTraits& traits) {
  SortTuning tuning;
  tuning.workgroup_size = std::min(tuning.workgroup_size, std::bit_floor(traits.max_workgroup_size));
  const std::uint64_t count = shape.item_count.max;
  const bool has_payload = shape.value.has_value() || shape.write_indices || !shape.key_fields.empty();
  const bool is_wide =
      shape.key.is_64_bit() || std::ranges::any_of(shape.key_fields, &ElementType::is_64_bit, &KeyField::type);
  // A row of counters a subgroup: with narrow subgroups they would not fit.
  tuning.use_subgroups = traits.subgroup_min_size >= 16 || traits.emulated_subgroup_size != 0;
  if (traits.is_cpu) {
    // Software devices pay for every thread at a barrier, and some compile long kernels in minutes (2026-11-30:
    // llvmpipe at 2^18 keys 23 ms with 64 x 16, 35 with 256 x 13; SwiftShader takes 32 s for 64 x 8 keys of 64 bits).
    tuning.workgroup_size = 64;
    tuning.digit_bits = 6;
    tuning.items_per_thread = is_wide ? 4 : 8;
    tuning.max_workgroups = 64;
    tuning.one_workgroup_items = tuning.workgroup_size * tuning.items_per_thread;
  }
  if (traits.adapter_vendor == "nvidia" && tuning.use_subgroups) {
    tuning.lock_step = traits.lock_step;
    tuning.in_order = true;
    if (has_payload) {
      const bool is_large = count >= std::uint64_t{1} << 24;
      if (!is_large) tuning.workgroup_size = std::min(512u, std::bit_floor(traits.max_workgroup_size));
      tuning.items_per_thread = is_large                          ? (is_wide ? 20 : 30)
                                : count >= std::uint64_t{1} << 20 ? 14
                                : count >= std::uint64_t{1} << 18 ? 8
                                                                  : 4;
      tuning.stage_rounds = is_large && is_wide ? 4 : tuning.items_per_thread > 8 ? 2 : 1;
      tuning.look_back_late = is_large;
      tuning.look_records = is_large ? 4 : 8;
    } else if (count >= std::uint64_t{1} << 23) {
      tuning.items_per_thread = is_wide ? 24 : 40;
      tuning.stage_rounds = is_wide ? 4 : 2;
      tuning.look_records = 6;
    } else {
      tuning.workgroup_size = std::min(512u, std::bit_floor(traits.max_workgroup_size));
      tuning.items_per_thread = count < std::uint64_t{1} << 17 ? 4 : count < std::uint64_t{1} << 19 ? 8 : 16;
      tuning.stage_rounds = tuning.items_per_thread == 16 ? 2 : 1;
      tuning.look_back_late = false;
      tuning.look_records = 8;
    }
  }
  return tuning;
}

}  // namespace upsweep
