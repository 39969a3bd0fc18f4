// SPDX-License-Identifier: Apache-2.0
// Radix sort of keys, of keys with values, and of indices (argsort). Stable, ascending or descending.
// Sources: Merrill and Grimshaw 2011 (radix sorting on GPUs); Adinets and Merrill 2022 (Onesweep); Smith, Levien and
// Owens 2025 (decoupled fallback); Satish, Harris and Garland 2009 (ranking in workgroup memory).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "upsweep/buffer_view.h"
#include "upsweep/count.h"
#include "upsweep/device_traits.h"
#include "upsweep/element.h"
#include "upsweep/plan.h"
#include "upsweep/status.h"

namespace upsweep {

class Context;
class RecordTarget;

/// One field of keys that are structs.
struct KeyField {
  std::uint32_t offset_bytes = 0;         ///< In the struct, a multiple of 4.
  ElementType type = ElementType::u32();  ///< u32, i32, f32, u64 or i64.
  bool is_f64 = false;                    ///< A field of type u64 holds the bits of an IEEE double.
  bool descending = false;                ///< This field alone.

  bool operator==(const KeyField&) const = default;
};

/// What to sort: sizes and types, no buffers, no device.
///
/// Order of keys: integers by value; floats by value with -0 equal to +0 and every NaN greater than all numbers and
/// equal to every other NaN. Equal keys keep their order, in descending sorts, too. Keys are moved bit by bit: no NaN,
/// -0 or subnormal changes.
struct SortShape {
  Count item_count = {};
  /// u32, i32, f32, f16, u64 or i64, none of which needs a feature of the device; any type with `key_fields`.
  ElementType key = ElementType::u32();
  /// The fields that order keys of a struct type: by the first one, equal ones by the second, and so on. Each is sorted
  /// by as a key of its own, the last one first, and indices move instead of keys: for orders that no list of fields
  /// gives there is record_merge_sort. Not in place, without segments, ranges of bits or f16 values.
  std::vector<KeyField> key_fields = {};
  bool key_is_f64 = false;  ///< Keys of type u64 are the bits of IEEE doubles, and ordered as such.
  bool descending = false;  ///< All of it, whatever the fields say of themselves.
  /// Sort by the bits [begin_bit, end_bit) of the ordered key alone (bit 0 is the least); the other bits travel along.
  /// end_bit 0: all bits. The ordered key of a float of n bits is 2^(n-1) plus or minus its magnitude's bits, of NaN
  /// all ones: docs/semantics.md.
  std::uint32_t begin_bit = 0;
  std::uint32_t end_bit = 0;
  /// Values that travel with their keys, of any type.
  std::optional<ElementType> value = {};
  bool write_keys = true;  ///< Write the sorted keys to argument `sorted_keys`.
  /// Write to argument `indices` (u32) where each item of the result was in the input: argsort.
  bool write_indices = false;
  /// Keys and values are sorted where they are: arguments `sorted_keys` and `sorted_values` are the input, too.
  /// record_sort sees it by itself. Needs write_keys.
  bool in_place = false;

  /// So many segments are sorted, each on its own: [begins[s], ends[s]), arguments `segment_begins` and `segment_ends`
  /// (u32 each, in items; may be one array of offsets, the second view one word later, of a buffer that is not
  /// written). In ascending order, and no two overlap; empty ones and gaps between them are fine. An end before its
  /// begin makes an empty segment, ends behind the last item are cut off. What no segment holds is not written.
  /// on_device: argument `segment_count`.
  std::optional<Count> segment_count = {};
  /// No segment has more items; 0 if nothing is known. Spares the steps that long ones need; longer segments may then
  /// stay unsorted, all others are sorted.
  std::uint64_t longest_segment = 0;

  bool operator==(const SortShape&) const = default;
};

/// How a digit pass learns where its tiles' items go.
enum class SortPath : std::uint8_t {
  automatic,
  /// Count, add up, scatter: three passes a digit, barriers only; every device. Also of long segments, which else are
  /// merged of sorted parts where that takes less time.
  three_pass,
  /// One pass a digit with look-back and fallback (as ScanPath::single_pass); by itself only where the context's
  /// self-test passed.
  single_pass,
};

/// The knobs. Plans whose tunings differ may need different pipelines. Planners cut what does not fit the device, and
/// note it.
struct SortTuning {
  SortPath path = SortPath::automatic;
  std::uint32_t workgroup_size = 256;   ///< Threads; a power of two, at least 16 and 2^digit_bits.
  std::uint32_t items_per_thread = 13;  ///< A tile is workgroup_size * items_per_thread items, at most 65535.
  std::uint32_t digit_bits = 8;         ///< 1 to 8. Each pass sorts by so many bits.
  /// A tile is moved through workgroup memory in so many parts; divides items_per_thread.
  std::uint32_t stage_rounds = 1;
  bool use_subgroups = true;  ///< Rank by subgroups where the device has them.
  /// Atomic additions of a subgroup's lanes to one counter take effect in the order of the lanes, step after step, so
  /// that what they return are ranks. No rule of WGSL says so; hardware that runs subgroups in lock-step does it, and
  /// the context's self-test tries it. Else ranks come from ballots, with a barrier after each step.
  bool lock_step = false;
  bool look_back_late = true;                ///< single_pass: look back after ranking, else before.
  bool in_order = false;                     ///< single_pass: as ScanTuning::in_order.
  std::uint32_t poll_rounds = 32;            ///< single_pass: looks at a missing count before it is computed.
  std::uint32_t look_records = 4;            ///< single_pass: records of a digit that a look takes together. 1 to 16.
  std::uint32_t max_workgroups = 1056;       ///< three_pass and counting: workgroups.
  std::uint32_t one_workgroup_items = 4096;  ///< Up to here, and a tile, one workgroup does it all.

  bool operator==(const SortTuning&) const = default;
};
[[nodiscard]] std::string to_string(SortPath path);
[[nodiscard]] std::string to_string(const SortTuning& tuning);
/// The library's choice of knobs for a shape.
[[nodiscard]] SortTuning select_sort_tuning(const SortShape& shape, const DeviceTraits& traits);

/// Chooses kernels, dispatches and scratch. Pure; needs no device. Arguments of the plan: `keys`, `values` (not in
/// place), `sorted_keys`, `sorted_values`, `indices`, `item_count` (one u32), `segment_begins`, `segment_ends`,
/// `segment_count` (one u32), each present only where the shape calls for it. 0 items write nothing. At most 2^30 - 1
/// items, and each array must fit into one binding. Scratch: one array of keys and of what travels with them (two where
/// no sorted keys are written), and in single passes four bytes a tile and value of a digit.
[[nodiscard]] Result<Plan> plan_sort(const SortShape& shape, const DeviceTraits& traits,
                                     std::optional<SortTuning> tuning = std::nullopt);

/// Buffers of one sort; leave those empty that the shape does not use. Offsets must be multiples of the item's stride
/// (4 for f16), no more. Input and output may be the same views (in place; then both keys and values must be);
/// otherwise written ranges must not overlap others, and may be ranges of one buffer if no 256-byte block holds parts
/// of two. The input keeps its bytes. What lies behind the last item is not touched.
struct SortBuffers {
  BufferView keys = {};
  BufferView values = {};
  BufferView sorted_keys = {};
  BufferView sorted_values = {};
  BufferView indices = {};
  BufferView item_count = {};
  BufferView segment_begins = {};
  BufferView segment_ends = {};
  BufferView segment_count = {};
};

/// Plans, then records into the target. Neither submits nor waits for the device; allocates nothing when repeated.
/// Kernels for many items take up to a second to compile: until `poll` or `wait` has seen them ready, a kernel with
/// smaller tiles serves, and the result is the same. `prepare` with the plan makes them ahead of time. With a tuning
/// given, its kernels are compiled in the call.
[[nodiscard]] Status record_sort(Context& context, RecordTarget target, const SortShape& shape,
                                 const SortBuffers& buffers, std::optional<SortTuning> tuning = std::nullopt);

}  // namespace upsweep
