// SPDX-License-Identifier: Apache-2.0
// What the primitives that are scans underneath have in common: how they may run, and their knobs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "upsweep/device_traits.h"
#include "upsweep/element.h"

namespace upsweep {

/// May results of float operators differ in their last bits from run to run?
enum class Determinism : std::uint8_t {
  any,         ///< The fastest plan. In a single pass the order of float additions depends on timing.
  run_to_run,  ///< Same device, driver, plan and input give the same bits.
};

/// How a scan reaches across tiles.
enum class ScanPath : std::uint8_t {
  automatic,
  /// Two passes: totals of chunks of the input, then each workgroup folds the totals before its own and scans. Barriers
  /// only; every device; repeatable; in place. Reads the input twice. Few items: one workgroup, one pass.
  two_pass,
  /// One pass: tiles publish their totals and look back at those before them; a tile that waits too long computes the
  /// missing total itself (decoupled look-back with decoupled fallback), so that it ends without forward-progress
  /// guarantees. For one row whose accumulator has at most 4 words and whose output is not its input; taken by itself
  /// only where the context's self-test passed.
  single_pass,
};

/// The knobs of every plan that is a scan underneath. Plans whose tunings differ may need different pipelines.
struct ScanTuning {
  ScanPath path = ScanPath::automatic;
  std::uint32_t workgroup_size = 256;  ///< Threads; a power of two.
  std::uint32_t rows = 8;     ///< Loads in flight a thread: vectors of four 32-bit items, or single items. 1 to 16.
  bool use_vectors = true;    ///< Load and store vectors where types and offsets allow it.
  bool use_subgroups = true;  ///< Where the device has them.
  std::uint32_t max_workgroups = 4224;       ///< two_pass: chunks of the input.
  std::uint32_t one_workgroup_items = 4096;  ///< Up to here one workgroup does it all.
  /// single_pass: number tiles as workgroups are numbered instead of by a ticket. Right on every device; fast only
  /// where workgroups start in order.
  bool in_order = false;
  std::uint32_t poll_rounds = 32;  ///< single_pass: looks at a missing total before it is computed.

  bool operator==(const ScanTuning&) const = default;
};
[[nodiscard]] std::string to_string(ScanPath path);
[[nodiscard]] std::string to_string(const ScanTuning& tuning);
/// The library's choice for items of `item_bytes`, at most `item_count` of them. Planners cut rows and workgroup size
/// further where accumulators would not fit into workgroup memory, and note it.
[[nodiscard]] ScanTuning select_scan_tuning(std::uint32_t item_bytes, std::uint64_t item_count,
                                            const DeviceTraits& traits);

/// The same for the primitives that mark items (select, partition, unique, run length): up to 8 rows, 4 bits each to a
/// word.
[[nodiscard]] ScanTuning select_marking_tuning(std::uint32_t item_bytes, std::uint64_t item_count,
                                               const DeviceTraits& traits);

/// Byte offsets of the views that a plan will be recorded with. Only their remainders modulo 256 matter: they decide
/// whether items can be moved in vectors. Recording with other remainders is refused.
struct ScanOffsets {
  std::uint64_t input_bytes = 0;
  std::uint64_t output_bytes = 0;
  bool operator==(const ScanOffsets&) const = default;
};

/// When are two neighbouring items of one run? A WGSL expression of
///   a  the earlier item,
///   b  the item after it (f16 items arrive as f32, 64-bit ones as vec2u).
/// Empty: equal values, where NaN equals NaN and -0 equals +0; structs have no such default.
struct Equality {
  std::string expression = {};
  std::string wgsl = {};  ///< Text with functions or structs that the expression uses.

  bool operator==(const Equality&) const = default;
  static Equality of(std::string expression, std::string wgsl = {}) { return {std::move(expression), std::move(wgsl)}; }
};

/// How flags lie in a buffer of u32 words. Item i is flagged if its entry is not 0.
enum class FlagFormat : std::uint8_t {
  words,  ///< One u32 an item.
  bytes,  ///< Four items a word, the first in the lowest byte (a NumPy bool array).
  bits,   ///< 32 items a word, the first in the lowest bit.
};
/// Bytes of the flags of so many items: whole words.
[[nodiscard]] std::uint64_t flag_bytes(FlagFormat format, std::uint64_t item_count);

}  // namespace upsweep
