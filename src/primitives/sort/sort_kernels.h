// SPDX-License-Identifier: Apache-2.0
// The kernels of a sort, assembled from the .wgsl files of this room and generated text: loops over a thread's items
// are written out, since compilers do not keep indexed arrays in registers.
#pragma once

#include <cstdint>
#include <memory>

#include "upsweep/device_traits.h"
#include "upsweep/plan.h"
#include "upsweep/sort.h"

namespace upsweep {

enum class SortRanking : std::uint8_t { workgroup, subgroup, subgroup_wide, emulated };

// What all kernels of a plan agree on.
struct SortLayout {
  Scalar key = Scalar::u32;  // as compared
  bool is_f64 = false;
  bool descending = false;
  std::uint32_t key_words = 1;    // as moved: f16 keys take a word of their own
  std::uint32_t value_words = 0;  // 0, 1, 2 or 4
  bool makes_values = false;      // values are positions: the first pass makes them
  bool may_drop_keys = false;     // the last pass may write values alone
  bool counts_on_device = false;
  SortTuning tuning = {};
  SortRanking ranking = SortRanking::workgroup;
  std::uint32_t counter_rows = 0;  // of the subgroups
  std::uint32_t pass_count = 0;
  bool is_broken = false;  // tests only: DeviceTraits::test_broken_look_back

  [[nodiscard]] std::uint32_t tile_items() const { return tuning.workgroup_size * tuning.items_per_thread; }
  [[nodiscard]] std::uint32_t digit_count() const { return 1u << tuning.digit_bits; }
  // Workgroup memory of the kernels that place keys.
  [[nodiscard]] std::uint32_t stage_words() const;
  [[nodiscard]] std::uint32_t workgroup_bytes() const;
};

using SortKernel = Result<std::shared_ptr<const Kernel>>;

SortKernel sort_clear_kernel(const SortLayout& layout);
SortKernel sort_histogram_kernel(const SortLayout& layout, std::uint32_t items_per_thread);
SortKernel sort_pass_kernel(const SortLayout& layout, const DeviceTraits& traits);
SortKernel sort_count_kernel(const SortLayout& layout);
SortKernel sort_spine_kernel(const SortLayout& layout);
SortKernel sort_scatter_kernel(const SortLayout& layout, const DeviceTraits& traits);
SortKernel sort_one_kernel(const SortLayout& layout, const DeviceTraits& traits, bool in_place);
SortKernel sort_widen_kernel(const SortLayout& layout);
SortKernel sort_narrow_kernel(const SortLayout& layout);
SortKernel sort_gather_kernel(const SortLayout& layout, std::uint32_t value_words);

}  // namespace upsweep
