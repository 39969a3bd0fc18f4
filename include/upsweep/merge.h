// SPDX-License-Identifier: Apache-2.0
// Merge: two sorted ranges become one. Stable: of equal keys those of the left range come first (std::merge).
// Sources: Odeh, Green, Mwassi, Shmueli and Birk 2012; Green, McColl and Bader 2012 (merge path).
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

/// What to merge: sizes and types, no buffers, no device. Both ranges are sorted by `order`; if one is not, the result
/// holds no more than items of theirs.
struct MergeShape {
  Count left_count = {};
  Count right_count = {};
  ElementType key = ElementType::u32();  ///< f16 needs no feature of the device.
  KeyOrder order = {};
  std::optional<ElementType> value = {};  ///< Values that travel with their keys, of any type.

  bool operator==(const MergeShape&) const = default;
};

/// The knobs. Plans whose tunings differ may need different pipelines. Planners cut what does not fit the device, and
/// note it.
struct MergeTuning {
  std::uint32_t workgroup_size = 256;  ///< Threads; a power of two, at least 2.
  /// Neighbouring outputs that a thread merges, 1 to 32; odd numbers keep threads out of each other's banks. A tile is
  /// workgroup_size times as many.
  std::uint32_t items_per_thread = 9;
  /// So many items and more have a pass that finds where the ranges of each tile begin; of fewer each workgroup finds
  /// it by itself.
  std::uint32_t split_pass_items = 1u << 18;

  bool operator==(const MergeTuning&) const = default;
};
[[nodiscard]] std::string to_string(const MergeTuning& tuning);
/// The library's choice of knobs for a shape.
[[nodiscard]] MergeTuning select_merge_tuning(const MergeShape& shape, const DeviceTraits& traits);

/// Chooses kernels, dispatches and scratch. Pure; needs no device. Arguments of the plan: `left_keys`, `right_keys`,
/// `merged_keys` (room for all of both), `left_values`, `right_values`, `merged_values`, `left_count` and `right_count`
/// (one u32 each), each present only where the shape calls for it; those of a range of no items are left out. Nothing
/// and nothing write nothing. At most 2^30 items in all, and each array must fit into one binding. Scratch: four bytes
/// a tile.
[[nodiscard]] Result<Plan> plan_merge(const MergeShape& shape, const DeviceTraits& traits,
                                      std::optional<MergeTuning> tuning = std::nullopt);

/// Buffers of one merge; leave those empty that the shape does not use. Offsets must be multiples of the item's stride
/// (4 for f16), no more. Written ranges must not overlap others; they may be ranges of one buffer with the inputs if no
/// 256-byte block holds parts of two of them. With counts on the device the merged items follow one
/// another from the first place on; what lies behind the last one is not touched.
struct MergeBuffers {
  BufferView left_keys = {};
  BufferView right_keys = {};
  BufferView merged_keys = {};
  BufferView left_values = {};
  BufferView right_values = {};
  BufferView merged_values = {};
  BufferView left_count = {};
  BufferView right_count = {};
};

/// Plans, then records into the target. Neither submits nor waits; allocates nothing when repeated.
[[nodiscard]] Status record_merge(Context& context, RecordTarget target, const MergeShape& shape,
                                  const MergeBuffers& buffers, std::optional<MergeTuning> tuning = std::nullopt);

}  // namespace upsweep
