// SPDX-License-Identifier: Apache-2.0
// record_x() of the primitives that are scans underneath: look the plan up by shape, tuning and offsets, then record.
#pragma once

#include <algorithm>
#include <span>

#include "exec/context_impl.h"
#include "upsweep/scan_tuning.h"

namespace upsweep {

template <typename Shape>
struct PlannedKey {
  Shape shape;
  ScanTuning tuning;
  ScanOffsets offsets;
  bool operator==(const PlannedKey&) const = default;
};

// `hash` need not cover every field: equality decides. `output` is the one whose offset the plan depends on.
template <typename Shape>
Status record_planned(Context& context, RecordTarget target, const Shape& shape, std::uint64_t hash, ScanTuning tuning,
                      Result<Plan> (*plan_shape)(const Shape&, const DeviceTraits&, std::optional<ScanTuning>,
                                                 ScanOffsets),
                      const BufferView& input, const BufferView& output, std::span<const Argument> arguments,
                      std::size_t vector_inputs = 1) {
  // Inputs read as vectors, the first arguments, have two bindings, which cannot share a buffer with a written range.
  // The same view again is a scan in place.
  for (const Argument& vector : arguments.first(vector_inputs)) {
    const bool shares =
        vector.view.buffer != nullptr &&
        std::ranges::any_of(arguments.subspan(vector_inputs), [&](const Argument& other) {
          return other.view.buffer == vector.view.buffer && other.view.offset_bytes != vector.view.offset_bytes;
        });
    if (shares) tuning.use_vectors = false;
  }
  thread_local PlannedKey<Shape> key;  // its strings keep their memory from call to call
  const std::uint32_t alignment = context.traits().offset_alignment;
  key.shape = shape;
  key.tuning = tuning;
  key.offsets = {input.offset_bytes % alignment, output.offset_bytes % alignment};
  const auto plan =
      cached_plan(context.impl(), hash, key, [&] { return plan_shape(shape, context.traits(), tuning, key.offsets); });
  if (!plan) return std::unexpected(plan.error());
  return context.record(target, **plan, arguments);
}

}  // namespace upsweep
