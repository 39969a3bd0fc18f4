// SPDX-License-Identifier: Apache-2.0
// Select (stream compaction): keep the items that pass, in their order, and count them on the device.
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

/// Which items pass: a WGSL expression of type bool, or flags in a buffer.
struct Predicate {
  /// Of x (the item; f16 items arrive as f32, 64-bit ones as vec2u) and i (its index).
  std::string expression = {};
  std::string wgsl = {};  ///< Text with functions or structs that the expression uses.
  /// Instead of an expression: argument `flags`.
  std::optional<FlagFormat> flags = {};

  bool operator==(const Predicate&) const = default;
  static Predicate of(std::string expression, std::string wgsl = {}) {
    return {std::move(expression), std::move(wgsl), {}};
  }
  static Predicate flagged(FlagFormat format = FlagFormat::words) { return {{}, {}, format}; }
};

/// What to select: sizes and types, no buffers, no device.
struct SelectShape {
  Count item_count = {};
  ElementType input = ElementType::f32();
  Predicate predicate = {};
  bool write_items = true;     ///< Write the items that pass to argument `output`.
  bool write_indices = false;  ///< Write their indices (u32) to argument `indices`.
  /// Write the grid of the next indirect dispatch to argument `dispatch_arguments` (3 u32, usage Indirect): enough
  /// workgroups of so many threads for one thread an item that passed, folded to the device's limit. Kernels see
  /// src/wgsl/grid.wgsl for the inverse.
  std::optional<std::uint32_t> dispatch_threads = {};

  bool operator==(const SelectShape&) const = default;
};

/// The library's choice of knobs for a shape.
[[nodiscard]] ScanTuning select_scan_tuning(const SelectShape& shape, const DeviceTraits& traits);
/// Chooses kernels, dispatches and scratch. Pure. Arguments: `input`, `output` and `indices` (room for all items),
/// `count` (one u32: how many passed), `flags`, `item_count`, `dispatch_arguments`, each present only where the shape
/// calls for it. 0 items write 0 as the count. At most 2^32 - 2 items, and the outputs must fit into one binding.
[[nodiscard]] Result<Plan> plan_select(const SelectShape& shape, const DeviceTraits& traits,
                                       std::optional<ScanTuning> tuning = std::nullopt, ScanOffsets offsets = {});

/// Buffers of one selection. Written ranges must not overlap others. What lies behind the last item that passed keeps
/// its bytes.
struct SelectBuffers {
  BufferView input = {};
  BufferView output = {};
  BufferView count = {};
  BufferView indices = {};
  BufferView flags = {};
  BufferView item_count = {};
  BufferView dispatch_arguments = {};
};

/// Plans, then records into the target. Neither submits nor waits; allocates nothing when repeated.
[[nodiscard]] Status record_select(Context& context, RecordTarget target, const SelectShape& shape,
                                   const SelectBuffers& buffers, std::optional<ScanTuning> tuning = std::nullopt);

}  // namespace upsweep
