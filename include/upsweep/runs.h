// SPDX-License-Identifier: Apache-2.0
// Runs of equal neighbours: unique, run-length encoding, reduction by key.
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

/// Keeps the first item of every run of equal neighbours (its bits), in order. Sort first for all distinct values.
struct UniqueShape {
  Count item_count = {};
  ElementType input = ElementType::f32();
  Equality equality = {};
  bool write_indices = false;  ///< Also write where each run begins (u32) to argument `indices`.

  bool operator==(const UniqueShape&) const = default;
};
/// The library's choice of knobs for a shape.
[[nodiscard]] ScanTuning select_scan_tuning(const UniqueShape& shape, const DeviceTraits& traits);
/// Arguments: `input`, `output` and `indices` (room for all items), `count` (one u32), `item_count`.
[[nodiscard]] Result<Plan> plan_unique(const UniqueShape& shape, const DeviceTraits& traits,
                                       std::optional<ScanTuning> tuning = std::nullopt, ScanOffsets offsets = {});
struct UniqueBuffers {
  BufferView input = {};
  BufferView output = {};
  BufferView count = {};
  BufferView indices = {};
  BufferView item_count = {};
};
[[nodiscard]] Status record_unique(Context& context, RecordTarget target, const UniqueShape& shape,
                                   const UniqueBuffers& buffers, std::optional<ScanTuning> tuning = std::nullopt);

/// Run-length encoding: for every run its first item (bits kept), its length and where it begins.
struct RunLengthShape {
  Count item_count = {};
  ElementType input = ElementType::u32();
  Equality equality = {};
  bool write_values = true;    ///< Argument `values`.
  bool write_lengths = true;   ///< Argument `lengths` (u32).
  bool write_offsets = false;  ///< Argument `offsets` (u32).
  bool only_repeated = false;  ///< Leave out runs of one item ("non-trivial runs").

  bool operator==(const RunLengthShape&) const = default;
};
/// The library's choice of knobs for a shape.
[[nodiscard]] ScanTuning select_scan_tuning(const RunLengthShape& shape, const DeviceTraits& traits);
/// Arguments: `input`, `values`, `lengths`, `offsets` (each with room for all items), `count` (one u32: the number of
/// runs), `item_count`, each present only where the shape calls for it.
[[nodiscard]] Result<Plan> plan_run_length(const RunLengthShape& shape, const DeviceTraits& traits,
                                           std::optional<ScanTuning> tuning = std::nullopt, ScanOffsets offsets = {});
struct RunLengthBuffers {
  BufferView input = {};
  BufferView values = {};
  BufferView lengths = {};
  BufferView offsets = {};
  BufferView count = {};
  BufferView item_count = {};
};
[[nodiscard]] Status record_run_length(Context& context, RecordTarget target, const RunLengthShape& shape,
                                       const RunLengthBuffers& buffers,
                                       std::optional<ScanTuning> tuning = std::nullopt);

/// Folds the values of every run of equal keys. The operator need not commute; no operator sees values of two runs.
struct ReduceByKeyShape {
  Count item_count = {};
  ElementType key = ElementType::u32();
  Equality equality = {};
  ElementType input = ElementType::f32();  ///< Of the values.
  BinaryOperator combine = {};
  std::optional<ElementType> output = {};  ///< Of the results: as for a reduction.
  Determinism determinism = Determinism::any;

  bool operator==(const ReduceByKeyShape&) const = default;
};
/// The library's choice of knobs for a shape.
[[nodiscard]] ScanTuning select_scan_tuning(const ReduceByKeyShape& shape, const DeviceTraits& traits);
/// Arguments: `keys`, `input` (the values), `unique_keys` and `output` (room for all items), `count` (one u32: the
/// number of runs), `item_count`. A run's key is its first item's bits. Of `offsets`, input_bytes is that of `keys` and
/// output_bytes that of `input`.
[[nodiscard]] Result<Plan> plan_reduce_by_key(const ReduceByKeyShape& shape, const DeviceTraits& traits,
                                              std::optional<ScanTuning> tuning = std::nullopt,
                                              ScanOffsets offsets = {});
struct ReduceByKeyBuffers {
  BufferView keys = {};
  BufferView input = {};
  BufferView unique_keys = {};
  BufferView output = {};
  BufferView count = {};
  BufferView item_count = {};
};
[[nodiscard]] Status record_reduce_by_key(Context& context, RecordTarget target, const ReduceByKeyShape& shape,
                                          const ReduceByKeyBuffers& buffers,
                                          std::optional<ScanTuning> tuning = std::nullopt);

}  // namespace upsweep
