// SPDX-License-Identifier: Apache-2.0
// Top-k and nth element: the k smallest or largest keys of many, with values or indices, and the k-th key.
// Sources: Alabi, Blanchard, Gordon and Steinbach 2012 (radix select on GPUs); Zhang, Naruse, Li and Wang 2023 (AIR
// top-k: candidates are gathered once).
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
#include "upsweep/sort.h"
#include "upsweep/status.h"

namespace upsweep {

class Context;
class RecordTarget;

enum class TopKOrder : std::uint8_t {
  sorted,       ///< As the first k items of a stable sort.
  input_order,  ///< As they are in the input; cheaper.
};

/// What to find: sizes and types, no buffers, no device.
///
/// The result are the first k items of a stable sort of the keys, descending for the largest: keys are ordered as in
/// SortShape (every NaN is the greatest key and equal to every other, -0 equals +0), of equal ones the first in the
/// input win. Keys and values keep their bits. Where there are fewer than k items, they are all in the result.
struct TopKShape {
  Count item_count = {};
  Count k = {};                          ///< How many are wanted. On the device: argument `k` (one u32), at most k.max.
  ElementType key = ElementType::u32();  ///< u32, i32, f32, f16, u64 or i64. f16 needs no feature of the device.
  bool key_is_f64 = false;               ///< Keys of type u64 are the bits of IEEE doubles, and ordered as such.
  bool largest = false;
  TopKOrder order = TopKOrder::sorted;
  /// Values that belong to the keys, of any type; those of the result go to argument `top_values`.
  std::optional<ElementType> value = {};
  bool write_keys = true;      ///< Write the keys of the result to argument `top_keys`.
  bool write_indices = false;  ///< Write to argument `indices` (u32) where each item of the result is in the input.
  bool write_count = false;    ///< Write the number of items of the result, min(k, items), to argument `count` (u32).
  /// Write the last key of the result to argument `threshold`: the nth element, a quantile, a median. By value: -0 is
  /// written as +0, NaN as the quiet one without payload. f16 takes a word, the upper half 0. Without items or with
  /// k = 0 nothing is written. Alone (with or without the count) it costs less than a result.
  bool write_threshold = false;

  bool operator==(const TopKShape&) const = default;
};

/// The knobs. Plans whose tunings differ may need different pipelines.
struct TopKTuning {
  std::uint32_t workgroup_size = 256;        ///< Of the kernels that count digits; a power of two, at least 16.
  std::uint32_t items_per_thread = 8;        ///< Loads in flight; 1 to 64.
  std::uint32_t digit_bits = 11;             ///< 1 to 11. The keys are counted once for so many bits.
  std::uint32_t max_workgroups = 1056;       ///< That count digits.
  std::uint32_t candidate_items = 1u << 22;  ///< From so many items on candidates are gathered after the first digit,
  std::uint32_t candidate_share = 4;         ///< if they are no more than this part of the items: 4: a quarter.
  std::uint32_t sort_all_items = 4096;       ///< Sorted results of up to so many items come from a sort of all.
  ScanTuning compaction = {};
  SortTuning sort = {};

  bool operator==(const TopKTuning&) const = default;
};
[[nodiscard]] std::string to_string(TopKOrder order);
[[nodiscard]] std::string to_string(const TopKTuning& tuning);
/// The library's choice of knobs for a shape.
[[nodiscard]] TopKTuning select_top_k_tuning(const TopKShape& shape, const DeviceTraits& traits);

/// Chooses kernels, dispatches and scratch. Pure; needs no device. Arguments of the plan: `keys`, `values`, `top_keys`,
/// `top_values`, `indices` (room for min(k.max, item_count.max) items each), `count`, `threshold`, `item_count`, `k`
/// (one u32 each; `threshold` one key), each present only where the shape calls for it. `input_bytes` is the byte
/// offset of the keys' view, as in ScanOffsets. At most 2^30 - 1 items, and each array must fit into one binding.
/// Scratch: up to candidate_share of the keys with their indices, the result once where it is sorted, and what a sort
/// of k items takes; 4 bytes an item for f16 keys.
[[nodiscard]] Result<Plan> plan_top_k(const TopKShape& shape, const DeviceTraits& traits,
                                      std::optional<TopKTuning> tuning = std::nullopt, std::uint64_t input_bytes = 0);

/// Buffers of one search; leave those empty that the shape does not use. Offsets must be multiples of the item's stride
/// (4 for f16), no more. Written ranges must not overlap others; they may be ranges of one buffer, or of that of an
/// input, if no 256-byte block holds parts of two. What lies behind the last item of a result is not touched.
struct TopKBuffers {
  BufferView keys = {};
  BufferView values = {};
  BufferView top_keys = {};
  BufferView top_values = {};
  BufferView indices = {};
  BufferView count = {};
  BufferView threshold = {};
  BufferView item_count = {};
  BufferView k = {};
};

/// Plans, then records into the target. Neither submits nor waits for the device; allocates nothing when repeated.
[[nodiscard]] Status record_top_k(Context& context, RecordTarget target, const TopKShape& shape,
                                  const TopKBuffers& buffers, std::optional<TopKTuning> tuning = std::nullopt);

}  // namespace upsweep
