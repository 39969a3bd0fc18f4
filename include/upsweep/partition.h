// SPDX-License-Identifier: Apache-2.0
// Partition: reorder the items into two or three parts; stable in each.
#pragma once

#include <cstdint>
#include <optional>

#include "upsweep/buffer_view.h"
#include "upsweep/count.h"
#include "upsweep/device_traits.h"
#include "upsweep/element.h"
#include "upsweep/plan.h"
#include "upsweep/scan_tuning.h"
#include "upsweep/select.h"
#include "upsweep/status.h"

namespace upsweep {

/// What to partition. Items that pass `first` come first; with three parts those that pass `second` (and not `first`)
/// follow; the rest comes last. Every part keeps the order of the input.
struct PartitionShape {
  Count item_count = {};
  ElementType input = ElementType::f32();
  Predicate first = {};                  ///< An expression, or flags (two parts only).
  std::optional<Predicate> second = {};  ///< An expression; makes three parts.

  bool operator==(const PartitionShape&) const = default;
};

/// The library's choice of knobs for a shape.
[[nodiscard]] ScanTuning select_scan_tuning(const PartitionShape& shape, const DeviceTraits& traits);
/// Arguments: `input`, `output`, `count` (one u32: items that passed `first`; with three parts two: and `second`),
/// `flags`, `item_count`. Two passes on every device: the rest starts where the others end. At most 2^32 - 2 items,
/// and the output must fit into one binding.
[[nodiscard]] Result<Plan> plan_partition(const PartitionShape& shape, const DeviceTraits& traits,
                                          std::optional<ScanTuning> tuning = std::nullopt, ScanOffsets offsets = {});

struct PartitionBuffers {
  BufferView input = {};
  BufferView output = {};
  BufferView count = {};
  BufferView flags = {};
  BufferView item_count = {};
};

/// Plans, then records into the target. Neither submits nor waits; allocates nothing when repeated.
[[nodiscard]] Status record_partition(Context& context, RecordTarget target, const PartitionShape& shape,
                                      const PartitionBuffers& buffers, std::optional<ScanTuning> tuning = std::nullopt);

}  // namespace upsweep
