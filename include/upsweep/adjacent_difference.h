// SPDX-License-Identifier: Apache-2.0
// Adjacent difference: each item with the one before it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "upsweep/buffer_view.h"
#include "upsweep/count.h"
#include "upsweep/device_traits.h"
#include "upsweep/element.h"
#include "upsweep/plan.h"
#include "upsweep/scan_tuning.h"
#include "upsweep/status.h"

namespace upsweep {

class Context;
class RecordTarget;

/// output[i] = difference(x[i], x[i-1]) for i > 0, and output[0] = x[0], as std::adjacent_difference.
struct AdjacentDifferenceShape {
  Count item_count = {};
  ElementType input = ElementType::f32();
  /// A WGSL expression of x (the item) and before (the one in front of it), of the input's type. Empty: x - before
  /// (64-bit integers, too).
  std::string expression = {};
  std::string wgsl = {};  ///< Text with functions or structs that the expression uses.

  bool operator==(const AdjacentDifferenceShape&) const = default;
};

/// The library's choice of knobs for a shape.
[[nodiscard]] ScanTuning select_scan_tuning(const AdjacentDifferenceShape& shape, const DeviceTraits& traits);
/// Arguments: `input`, `output`, `item_count` (one u32). At most 2^32 - 2 items. One pass.
[[nodiscard]] Result<Plan> plan_adjacent_difference(const AdjacentDifferenceShape& shape, const DeviceTraits& traits,
                                                    std::optional<ScanTuning> tuning = std::nullopt,
                                                    ScanOffsets offsets = {});

struct AdjacentDifferenceBuffers {
  BufferView input = {};
  BufferView output = {};
  BufferView item_count = {};
};

/// Plans, then records into the target. Neither submits nor waits; allocates nothing when repeated.
[[nodiscard]] Status record_adjacent_difference(Context& context, RecordTarget target,
                                                const AdjacentDifferenceShape& shape,
                                                const AdjacentDifferenceBuffers& buffers,
                                                std::optional<ScanTuning> tuning = std::nullopt);

}  // namespace upsweep
