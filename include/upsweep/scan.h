// SPDX-License-Identifier: Apache-2.0
// Scan: prefix sums, and prefix folds with any associative operator.
// Sources: Blelloch 1990 (Prefix sums and their applications); Merrill and Garland 2016 (single pass with decoupled
// look-back); Smith, Levien and Owens 2025 (decoupled fallback).
#pragma once

#include <cstdint>
#include <optional>

#include "upsweep/buffer_view.h"
#include "upsweep/count.h"
#include "upsweep/device_traits.h"
#include "upsweep/element.h"
#include "upsweep/operator.h"
#include "upsweep/plan.h"
#include "upsweep/scan_tuning.h"
#include "upsweep/status.h"

namespace upsweep {

class Context;
class RecordTarget;

enum class ScanKind : std::uint8_t {
  inclusive,  ///< output[i] = init + x[0] + ... + x[i]
  exclusive,  ///< output[i] = init + x[0] + ... + x[i-1]; output[0] is `init`, or the operator's identity without one.
};

/// Where the scan starts anew.
struct ScanSegments {
  enum class Kind : std::uint8_t {
    whole,  ///< Nowhere.
    rows,   ///< Rows of `row_length` items each, one after the other.
    flags,  ///< At the first item and at each item whose head flag is set (argument `heads`).
    keys,   ///< At each item whose key differs from the one before (argument `keys`): scan by key.
  };
  Kind kind = Kind::whole;
  Count row_count = Count::on_host(1);    ///< rows; on_device reads argument `item_count`.
  std::uint32_t row_length = 0;           ///< rows, in items.
  FlagFormat format = FlagFormat::words;  ///< flags
  ElementType key = ElementType::u32();   ///< keys
  Equality equality = {};                 ///< keys

  bool operator==(const ScanSegments&) const = default;

  static ScanSegments whole() { return {}; }
  static ScanSegments rows(Count count, std::uint32_t row_length) {
    return {.kind = Kind::rows, .row_count = count, .row_length = row_length};
  }
  static ScanSegments flags(FlagFormat format = FlagFormat::words) { return {.kind = Kind::flags, .format = format}; }
  static ScanSegments keys(ElementType type, Equality equality = {}) {
    return {.kind = Kind::keys, .key = std::move(type), .equality = std::move(equality)};
  }
};

/// What to scan: sizes and types, no buffers, no device.
struct ScanShape {
  /// Items of the input and of the output; for rows leave it 0: rows and row_length say it. 0 items write only the
  /// total.
  Count item_count = {};
  ElementType input = ElementType::f32();
  Transform transform = {};               ///< Applied to each item as it is loaded (x, and i counted in its row).
  std::optional<ElementType> value = {};  ///< Type that the transform gives; the input's type if not set.
  BinaryOperator combine = {};
  ScanKind kind = ScanKind::inclusive;
  std::optional<ConstantValue> init = {};  ///< Bytes of a `value`; used once in each row or segment.
  /// Type of the scanned values: as a reduction's result (f32 may be chosen for f16; u32 for argmin, argmax, any, all).
  std::optional<ElementType> result = {};
  Transform store = {};                    ///< Applied to each scanned value `x` as it is stored; i as above.
  std::optional<ElementType> output = {};  ///< Type that `store` gives; the result's type if not set.
  /// From the last item to the first, as if the input and the output were both reversed: combine(x[n-1], x[n-2]) is
  /// the order of operands.
  bool reverse = false;
  ScanSegments segments = {};
  /// Write the fold of all items (with init; one for each row) to argument `total`, in the result's type, without the
  /// store transform. Not for flags and keys.
  bool write_total = false;
  /// Input and output are the same buffer range (argument `output`). Needs equal strides. record_scan sees it by
  /// itself.
  bool in_place = false;
  Determinism determinism = Determinism::any;

  bool operator==(const ScanShape&) const = default;
};

/// The library's choice of knobs for a shape.
[[nodiscard]] ScanTuning select_scan_tuning(const ScanShape& shape, const DeviceTraits& traits);

/// Chooses kernels, dispatches and scratch. Pure; needs no device. Arguments of the plan: `input` (not in place),
/// `output`, `total`, `heads` (flag_bytes()), `keys`, `item_count` (one u32), each present only where the shape calls
/// for it. At most 4294967294 items.
[[nodiscard]] Result<Plan> plan_scan(const ScanShape& shape, const DeviceTraits& traits,
                                     std::optional<ScanTuning> tuning = std::nullopt, ScanOffsets offsets = {});

/// Buffers of one scan; leave those empty that the shape does not use. Offsets must be multiples of the item's stride
/// (4 for f16), no more. `input` and `output` may be the same view (in place); otherwise written ranges must not
/// overlap others, and may be ranges of one buffer if no 256-byte block holds parts of two.
struct ScanBuffers {
  BufferView input = {};
  BufferView output = {};
  BufferView total = {};
  BufferView heads = {};
  BufferView keys = {};
  BufferView item_count = {};
};

/// Plans, then records into the target. Neither submits nor waits; allocates nothing when repeated.
[[nodiscard]] Status record_scan(Context& context, RecordTarget target, const ScanShape& shape,
                                 const ScanBuffers& buffers, std::optional<ScanTuning> tuning = std::nullopt);

}  // namespace upsweep
