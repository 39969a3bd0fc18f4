// SPDX-License-Identifier: Apache-2.0
// The kernels of a sort, assembled from the .wgsl files of this room and generated text: loops over a thread's items
// are written out, since compilers do not keep indexed arrays in registers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "plan/gather.h"
#include "upsweep/device_traits.h"
#include "upsweep/plan.h"
#include "upsweep/sort.h"

namespace upsweep {

enum class SortRanking : std::uint8_t { workgroup, subgroup, subgroup_wide, emulated };

// Words of sort_lists in front of the windows.
constexpr std::uint32_t sort_lists_header = 5;
// A thread sorts so many items in its registers; at most 32. Runs that are merged are an odd number of words apart, so
// that threads do not look at the same bank of workgroup memory.
constexpr std::uint32_t short_run_items = 32;
constexpr std::uint32_t merged_run_items = 15;
// Of the longest segment that is joined of sorted chunks.
constexpr std::uint32_t most_joined_items = 1u << 20;

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
  bool takes_all_bits = false;  // of the keys; else a range of the ordered keys that docs/sort.md describes
  bool is_broken = false;       // tests only: DeviceTraits::test_broken_look_back
  // Segments are sorted: windows of them, or the chunks of long ones.
  bool has_segments = false;
  bool segments_on_device = false;  // their number
  std::uint32_t small_items = 0;    // of windows: segments of more items have one of their own
  bool has_merges = false;          // of windows: or they are those of other windows, and a run is a segment

  [[nodiscard]] std::uint32_t tile_items() const { return tuning.workgroup_size * tuning.items_per_thread; }
  [[nodiscard]] std::uint32_t digit_count() const { return 1u << tuning.digit_bits; }
  // So far apart do windows begin, which hold all small segments that begin there.
  [[nodiscard]] std::uint32_t window_step() const { return tile_items() - small_items; }
  [[nodiscard]] std::uint32_t run_items() const { return has_merges ? merged_run_items : short_run_items; }
  // Runs of the segments in a window: at most 2 for run_items() positions, and room that is left where a segment's
  // would not all be merged in one step.
  [[nodiscard]] std::uint32_t run_slots() const { return 3 * tuning.workgroup_size; }
  [[nodiscard]] std::uint32_t mark_words() const { return (tile_items() + 31) / 32; }
  [[nodiscard]] std::uint32_t window_bytes() const;  // of workgroup memory
  // Workgroup memory of the kernels that place keys.
  [[nodiscard]] std::uint32_t stage_words() const;
  [[nodiscard]] std::uint32_t workgroup_bytes() const;
};

// ordered_bits(key: Key) -> Key: unsigned bits that compare as the keys do.
std::string ordered_bits_text(const SortLayout& layout);

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
SortKernel sort_lists_kernel(const SortLayout& window, const SortLayout& large, const SortLayout& shorts);
SortKernel sort_window_kernel(const SortLayout& window, bool in_place);
SortKernel sort_segment_spine_kernel(const SortLayout& layout);
SortKernel sort_join_kernel(const SortLayout& window);
SortKernel sort_missing_kernel(const SortLayout& layout);
SortKernel sort_field_kernel(const SortLayout& layout, std::uint32_t key_words, const KeyField& field, bool has_order);
// The pass that brings items to where indices say.
Gather sort_gather(const SortLayout& layout, std::uint64_t count, SlotId item_count, SlotId indices, SlotId from,
                   SlotId to, const ElementType& type, std::string reason);

}  // namespace upsweep
