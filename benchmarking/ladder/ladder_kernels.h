// SPDX-License-Identifier: Apache-2.0
// What the kernels of all ladders have in common.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "upsweep/device_traits.h"
#include "upsweep/element.h"
#include "upsweep/plan.h"
#include "upsweep/status.h"

namespace upsweep::bench {

enum class LadderUnit : std::uint8_t { items, vectors };  // vectors: four items a thread and load
inline std::uint32_t items_of(LadderUnit unit) { return unit == LadderUnit::vectors ? 4 : 1; }

// One kernel: the file `name`.wgsl with what it needs.
struct LadderKernel {
  std::string_view name;
  LadderUnit unit = LadderUnit::items;
  bool loads_units = true;        // input, load_unit(), unit_sum()
  bool reads_scratch = false;     // of an earlier pass, instead of the caller's input
  bool uses_subgroups = false;    // subgroup_sum(), subgroup_sum_before(), SUBGROUP_SLOTS
  std::uint32_t value_count = 0;  // items in workgroup memory, those of subgroups aside
  std::uint32_t tile_items = 0;   // a workgroup's; 0: one unit a thread
  std::vector<std::string_view> parts = {};
};
Result<std::shared_ptr<const Kernel>> build_ladder_kernel(const LadderKernel& wanted, const ElementType& type,
                                                          std::uint32_t workgroup_size, const DeviceTraits& traits);

// Subgroups whose numbers are known, or emulated ones.
bool ladder_has_subgroups(const DeviceTraits& traits);

// Whether a ladder takes such a request at all: u32 or f32, one binding, a power of two of threads.
Status check_ladder_request(const ElementType& type, std::uint64_t item_count, std::uint32_t workgroup_size,
                            const DeviceTraits& traits);

}  // namespace upsweep::bench
