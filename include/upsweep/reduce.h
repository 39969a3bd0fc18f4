// SPDX-License-Identifier: Apache-2.0
// Reduction: fold all items, or the items of each segment, into one value with an associative operator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "upsweep/buffer_view.h"
#include "upsweep/count.h"
#include "upsweep/device_traits.h"
#include "upsweep/element.h"
#include "upsweep/operator.h"
#include "upsweep/plan.h"
#include "upsweep/status.h"

namespace upsweep {

class Context;
class RecordTarget;

/// How the input is divided. One result is written for each segment.
struct Segmentation {
  enum class Kind : std::uint8_t {
    whole,    ///< One segment: all items.
    rows,     ///< `count` rows of `row_length` items each, one after the other.
    offsets,  ///< `count` segments [begins[s], ends[s]) given by two u32 buffers; gaps and overlaps are fine. Ends past
              ///< the input are cut off, an end before its begin makes an empty segment.
  };
  Kind kind = Kind::whole;
  Count count = Count::on_host(1);  ///< Of rows or segments; on_device reads argument `item_count`.
  std::uint32_t row_length = 0;     ///< rows only, in items; 0 makes every row empty.

  bool operator==(const Segmentation&) const = default;

  static Segmentation whole() { return {}; }
  static Segmentation rows(Count count, std::uint32_t row_length) { return {Kind::rows, count, row_length}; }
  static Segmentation offsets(Count count) { return {Kind::offsets, count, 0}; }
};

/// What to reduce: sizes and types, no buffers, no device.
struct ReduceShape {
  /// Items of the input. 0 gives the initial value, or without one the operator's identity (numpy's start value:
  /// +inf for min of floats, 4294967295 for argmin). At most 4294967294. For `rows` leave it 0: rows and row_length say
  /// it.
  Count item_count = {};
  ElementType input = ElementType::f32();
  std::optional<ElementType> second_input = {};  ///< Items `y` of the transform: same number as the input.
  Transform transform = {};                      ///< Applied to each item as it is loaded.
  std::optional<ElementType> value = {};         ///< Type that the transform gives; the input's type if not set.
  BinaryOperator combine = {};
  /// Type of the result: only f32 instead of f16 can be chosen. Otherwise it is the value's type; u32 for argmin,
  /// argmax (index from the segment's first item), any and all (0 or 1).
  std::optional<ElementType> output = {};
  Segmentation segments = {};
  /// Folded in front of each segment, once. Bytes of a `value`. Not for argmin and argmax.
  std::optional<ConstantValue> init = {};

  bool operator==(const ReduceShape&) const = default;
};

/// The knobs of the plan. Plans whose tunings differ may need different pipelines.
struct ReduceTuning {
  std::uint32_t workgroup_size = 256;         ///< Threads; a power of two.
  std::uint32_t units_per_thread = 4;         ///< Loads in flight a thread: vectors of four items, or items.
  bool use_vectors = true;                    ///< Load four 16- or 32-bit items at once where the operator commutes.
  bool use_subgroups = true;                  ///< Where the device has them.
  bool single_pass = true;                    ///< Let the workgroup that arrives last fold the chunks, where it may.
  std::uint32_t max_workgroups = 1056;        ///< Of the first pass; more items make longer chunks.
  std::uint32_t longest_chain = 64;           ///< Tiles that one thread adds up in a row (bounds the float error).
  std::uint32_t one_workgroup_items = 16384;  ///< Up to here one workgroup does it all.

  bool operator==(const ReduceTuning&) const = default;
};
[[nodiscard]] std::string to_string(const ReduceTuning& tuning);
/// The library's choice for a device.
[[nodiscard]] ReduceTuning select_reduce_tuning(const ReduceShape& shape, const DeviceTraits& traits);

/// Byte offsets of the views that the plan will be recorded with. Only their remainders modulo 256 matter: they decide
/// whether two inputs can be read in vectors, and how much of a binding at the device's limit is left.
struct ReduceOffsets {
  std::uint64_t input_bytes = 0;
  std::uint64_t second_input_bytes = 0;
  bool operator==(const ReduceOffsets&) const = default;
};

/// Chooses kernels, dispatches and scratch. Pure; needs no device. Arguments of the plan: `input`, `second_input`,
/// `segment_begins`, `segment_ends`, `item_count` (one u32) and `output`, each present only where the shape calls for
/// it.
[[nodiscard]] Result<Plan> plan_reduce(const ReduceShape& shape, const DeviceTraits& traits,
                                       std::optional<ReduceTuning> tuning = std::nullopt, ReduceOffsets offsets = {});

/// Buffers of one reduction; leave those empty that the shape does not use. Offsets must be multiples of the item's
/// stride (4 for f16), no more. `output` receives one result per segment and must not overlap the others; it may be a
/// range of the same buffer as an input if no 256-byte block holds parts of both.
struct ReduceBuffers {
  BufferView input = {};
  BufferView output = {};
  BufferView second_input = {};
  BufferView item_count = {};
  BufferView segment_begins = {};
  BufferView segment_ends = {};
};

/// Plans, then records into the target. Neither submits nor waits; allocates nothing when repeated.
[[nodiscard]] Status record_reduce(Context& context, RecordTarget target, const ReduceShape& shape,
                                   const ReduceBuffers& buffers, std::optional<ReduceTuning> tuning = std::nullopt);

}  // namespace upsweep
