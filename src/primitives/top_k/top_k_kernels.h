// SPDX-License-Identifier: Apache-2.0
// The kernels of a search that are not the tile frame's, and WGSL that all of them share.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "plan/kernel_builder.h"
#include "primitives/sort/sort_kernels.h"
#include "upsweep/plan.h"
#include "upsweep/top_k.h"

namespace upsweep {

// How keys are ordered, and what all kernels of a plan agree on.
struct TopKLayout {
  SortLayout caller = {};  // the caller's keys: type and direction
  SortLayout keys = {};    // as searched: f16 keys are ordered bits, ascending
  std::uint32_t key_bits = 32;
  bool items_on_device = false;
  bool k_on_device = false;
  bool has_candidates = false;
  bool writes_count = false;
  bool writes_threshold = false;
  TopKTuning tuning = {};

  [[nodiscard]] std::uint32_t digit_count() const { return 1u << tuning.digit_bits; }
  [[nodiscard]] std::uint32_t tile_items() const { return tuning.workgroup_size * tuning.items_per_thread; }
};

// Key, ordered_bits() and the functions of top_k_bits.*.
void add_key_bits(KernelBuilder& builder, const TopKLayout& layout);

using TopKKernel = Result<std::shared_ptr<const Kernel>>;

TopKKernel top_k_widen_kernel(const TopKLayout& layout);
TopKKernel top_k_histogram_kernel(const TopKLayout& layout, bool is_first);
TopKKernel top_k_find_kernel(const TopKLayout& layout, bool is_first, bool is_last);
// Which arrays top_k_take copies.
struct TakenArrays {
  bool keys = false;
  bool indices = false;
  bool count = false;
  bool threshold = false;
};
TopKKernel top_k_take_kernel(const TopKLayout& layout, const TakenArrays& arrays);
// Of items of so many bytes: 2 or a multiple of 4.
// Of kernels that take an item a thread.
std::uint32_t top_k_item_threads(const TopKLayout& layout);

}  // namespace upsweep
