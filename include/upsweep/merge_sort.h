// SPDX-License-Identifier: Apache-2.0
// Merge sort: a stable sort of keys of any type by any order, with values or indices. For numbers in their natural
// order record_sort (a radix sort) is faster. Sources: Satish, Harris and Garland 2009 (merge sort on GPUs); Odeh,
// Green, Mwassi, Shmueli and Birk 2012; Green, McColl and Bader 2012 (merge path).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "upsweep/buffer_view.h"
#include "upsweep/count.h"
#include "upsweep/device_traits.h"
#include "upsweep/element.h"
#include "upsweep/order.h"
#include "upsweep/plan.h"
#include "upsweep/status.h"

namespace upsweep {

class Context;
class RecordTarget;

/// What to sort: sizes and types, no buffers, no device. Items of which neither comes before the other keep their
/// order. Keys of built-in types and values are moved bit by bit.
struct MergeSortShape {
  Count item_count = {};
  ElementType key = ElementType::u32();  ///< f16 needs no feature of the device.
  KeyOrder order = {};
  std::optional<ElementType> value = {};  ///< Values that travel with their keys, of any type.
  bool write_keys = true;                 ///< Write the sorted keys to argument `sorted_keys`.
  /// Write to argument `indices` (u32) where each item of the result was in the input: argsort.
  bool write_indices = false;

  bool operator==(const MergeSortShape&) const = default;
};

/// The knobs. Plans whose tunings differ may need different pipelines. Planners cut what does not fit the device, and
/// note it.
struct MergeSortTuning {
  /// Of the kernel in which one workgroup sorts a tile: threads, a power of two, at least 2, and items that each takes,
  /// 1 to 32; odd numbers keep threads out of each other's banks. Twice as large a tile saves a merge.
  std::uint32_t sort_workgroup_size = 256;
  std::uint32_t sort_items_per_thread = 9;
  /// The same of the kernel that merges.
  std::uint32_t merge_workgroup_size = 256;
  std::uint32_t merge_items_per_thread = 9;
  /// So many items and more have passes that find where the ranges of each tile begin; of fewer each workgroup finds it
  /// by itself.
  std::uint32_t split_pass_items = 1u << 18;

  bool operator==(const MergeSortTuning&) const = default;
};
[[nodiscard]] std::string to_string(const MergeSortTuning& tuning);
/// The library's choice of knobs for a shape.
[[nodiscard]] MergeSortTuning select_merge_sort_tuning(const MergeSortShape& shape, const DeviceTraits& traits);

/// Chooses kernels, dispatches and scratch. Pure; needs no device. Arguments of the plan: `keys`, `values`,
/// `sorted_keys`, `sorted_values`, `indices`, `item_count` (one u32), each present only where the shape calls for it. 0
/// items write nothing. At most 2^30 items, and each array must fit into one binding. Scratch: one array of keys and of
/// what travels with them (two of keys where no sorted keys are written), and four bytes a tile.
[[nodiscard]] Result<Plan> plan_merge_sort(const MergeSortShape& shape, const DeviceTraits& traits,
                                           std::optional<MergeSortTuning> tuning = std::nullopt);

/// Buffers of one sort; leave those empty that the shape does not use. Offsets must be multiples of the item's stride
/// (4 for f16), no more. Written ranges must not overlap others, and may be ranges of one buffer if no 256-byte block
/// holds parts of two. The input keeps its bytes. What lies behind the last
/// item is not touched.
struct MergeSortBuffers {
  BufferView keys = {};
  BufferView values = {};
  BufferView sorted_keys = {};
  BufferView sorted_values = {};
  BufferView indices = {};
  BufferView item_count = {};
};

/// Plans, then records into the target. Neither submits nor waits; allocates nothing when repeated.
[[nodiscard]] Status record_merge_sort(Context& context, RecordTarget target, const MergeSortShape& shape,
                                       const MergeSortBuffers& buffers,
                                       std::optional<MergeSortTuning> tuning = std::nullopt);

}  // namespace upsweep
