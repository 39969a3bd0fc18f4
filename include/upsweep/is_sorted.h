// SPDX-License-Identifier: Apache-2.0
// Is an array sorted, and how far? (std::is_sorted, std::is_sorted_until)
#pragma once

#include <cstdint>

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

/// What to look at: sizes and types, no buffers, no device. An array is sorted if no item comes before the one in front
/// of it; arrays of no item and of one are.
struct IsSortedShape {
  Count item_count = {};
  ElementType input = ElementType::u32();  ///< f16 needs no feature of the device.
  KeyOrder order = {};
  bool write_result = true;  ///< Write to argument `result` (one u32): 1 if the array is sorted, else 0.
  /// Write to argument `leading_count` (one u32) how many items at the beginning are sorted.
  bool write_leading_count = false;

  bool operator==(const IsSortedShape&) const = default;
};

/// Chooses kernels, dispatches and scratch. Pure; needs no device. Arguments of the plan: `input`, `result`,
/// `leading_count`, `item_count` (one u32), each present only where the shape calls for it. At most 4294967294 items;
/// the input may be larger than a binding. Reads each item once, or less where the array is not sorted.
[[nodiscard]] Result<Plan> plan_is_sorted(const IsSortedShape& shape, const DeviceTraits& traits);

/// Buffers; leave those empty that the shape does not use. Offsets must be multiples of the item's stride (4 for f16),
/// no more. Written words must not overlap others, and may lie in one buffer if no 256-byte block holds parts of two.
struct IsSortedBuffers {
  BufferView input = {};
  BufferView result = {};
  BufferView leading_count = {};
  BufferView item_count = {};
};

/// Plans, then records into the target. Neither submits nor waits; allocates nothing when repeated.
[[nodiscard]] Status record_is_sorted(Context& context, RecordTarget target, const IsSortedShape& shape,
                                      const IsSortedBuffers& buffers);

}  // namespace upsweep
