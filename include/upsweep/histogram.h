// SPDX-License-Identifier: Apache-2.0
// Histogram: count the samples of each bin, or add up their weights.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "upsweep/buffer_view.h"
#include "upsweep/count.h"
#include "upsweep/device_traits.h"
#include "upsweep/plan.h"
#include "upsweep/status.h"

namespace upsweep {

class Context;
class RecordTarget;

/// What one sample is. Narrow samples lie packed in u32 words, the first in the lowest bits. f16 needs no feature of
/// the device: samples are widened by integer arithmetic.
enum class SampleType : std::uint8_t { u8, u16, u32, i32, f16, f32 };
[[nodiscard]] std::string to_string(SampleType type);
/// "u8", "u16", ...
[[nodiscard]] Result<SampleType> sample_type_from_name(std::string_view name);
[[nodiscard]] std::uint32_t bytes_of(SampleType type);

/// The bins of a histogram. Bin i holds the samples x with edge i <= x < edge i+1, the last bin also those equal to the
/// last edge, as in NumPy; NaN and whatever lies outside is not counted. Where edges repeat, the last of their bins
/// counts.
struct HistogramBins {
  enum class Kind : std::uint8_t {
    /// `count` bins of equal width from `lower` to `upper`. Edges are those of numpy.linspace(lower, upper, count + 1):
    /// computed in f64, for float samples rounded to f32 (f16 samples count as the f32 of the same value), for integer
    /// samples not rounded.
    even,
    edges,  ///< `count` + 1 `edges`, ascending, compared with the samples exactly.
    /// The same in a buffer, argument `edges`: f32 for f16 and f32 samples, i32 for i32, u32 for unsigned ones. They
    /// must ascend and hold no NaN; else samples may be in any bin or in none.
    edges_on_device,
    /// Bin (x - first) >> shift, for integer samples; the last bin is no wider than the others.
    integers,
  };
  Kind kind = Kind::even;
  std::uint32_t count = 0;  ///< 1 to 2^24.
  double lower = 0;
  double upper = 0;
  std::vector<double> edges = {};
  std::int64_t first = 0;
  std::uint32_t shift = 0;  ///< 0 to 31.

  bool operator==(const HistogramBins&) const = default;

  static HistogramBins even(std::uint32_t count, double lower, double upper) {
    return {.kind = Kind::even, .count = count, .lower = lower, .upper = upper};
  }
  static HistogramBins between(std::vector<double> edges) {
    const auto count = static_cast<std::uint32_t>(edges.empty() ? 0 : edges.size() - 1);
    return {.kind = Kind::edges, .count = count, .edges = std::move(edges)};
  }
  static HistogramBins edges_on_device(std::uint32_t count) { return {.kind = Kind::edges_on_device, .count = count}; }
  static HistogramBins integers(std::uint32_t count, std::int64_t first = 0, std::uint32_t shift = 0) {
    return {.kind = Kind::integers, .count = count, .first = first, .shift = shift};
  }
};

/// What is added to a bin for each sample.
enum class HistogramWeights : std::uint8_t {
  none,   ///< 1: bins are u32 counts.
  words,  ///< The item's u32 in argument `weights`; bins are u32 sums, modulo 2^32.
  /// The item's f32 in argument `weights`, as fixed point: a signed 64-bit number of units of 2^-fraction_bits, rounded
  /// to the nearest; bins are f32. Whatever the order, the sum of a bin is the same. Weights of more than 2^63 units
  /// and infinities are cut to that, NaN adds nothing; sums must stay below 2^63 units.
  floats,
};

/// What to count: sizes and types, no buffers, no device.
struct HistogramShape {
  /// Items, each of `channels` samples that lie side by side; at most 4294967294 samples. 0 items leave bins of 0.
  Count item_count = {};
  SampleType sample = SampleType::f32;
  HistogramBins bins = {};         ///< The same for every channel.
  std::uint32_t channels = 1;      ///< 1 to 4: 4 for RGBA pixels.
  std::uint32_t channel_mask = 0;  ///< Bit c: count channel c. 0 counts all.
  HistogramWeights weights = HistogramWeights::none;
  std::uint32_t fraction_bits = 24;  ///< Of floats: 0 to 62.
  bool accumulate = false;           ///< Add to what argument `output` holds instead of overwriting it.

  bool operator==(const HistogramShape&) const = default;
};

/// Where samples are counted before they reach the output.
enum class HistogramPath : std::uint8_t {
  automatic,
  registers,  ///< Each thread counts for itself, four bins a word. Few bins, no weights.
  workgroup,  ///< Counters in workgroup memory, one or several copies; in windows where bins are too many for it.
  /// Counters of the bins that a workgroup meets first, in workgroup memory; others are added to the output at once.
  cache,
};
[[nodiscard]] std::string to_string(HistogramPath path);

/// The knobs of the plan. Plans whose tunings differ may need different pipelines.
struct HistogramTuning {
  HistogramPath path = HistogramPath::automatic;
  std::uint32_t workgroup_size = 256;    ///< Threads.
  std::uint32_t units_per_thread = 4;    ///< Loads in flight a thread: vectors of 16 bytes, or words.
  bool use_vectors = true;               ///< Load 16 bytes at once.
  std::uint32_t register_bins = 8;       ///< automatic: up to so many bins in registers. At most 16.
  std::uint32_t copies = 4;              ///< Of the counters of a workgroup, at most, while threads keep 24 bytes each.
  std::uint32_t window_bins = 1u << 20;  ///< Bins of one window, at most; workgroup memory may allow fewer.
  std::uint32_t max_windows = 8;         ///< automatic: more take the cache. Each window reads the input once.
  std::uint32_t cache_slots = 1024;      ///< A power of two.
  std::uint32_t max_workgroups = 1056;   ///< Of one window; more samples make longer chunks.
  std::uint32_t one_workgroup_samples = 16384;  ///< Up to here one workgroup does it all.

  bool operator==(const HistogramTuning&) const = default;
};
[[nodiscard]] std::string to_string(const HistogramTuning& tuning);
/// The library's choice for a device.
[[nodiscard]] HistogramTuning select_histogram_tuning(const HistogramShape& shape, const DeviceTraits& traits);

/// Byte offsets of the views that the plan will be recorded with; only their remainders modulo 256 matter, and only
/// for inputs that fill a binding of the device.
struct HistogramOffsets {
  std::uint64_t input_bytes = 0;
  std::uint64_t weights_bytes = 0;
  bool operator==(const HistogramOffsets&) const = default;
};

/// Chooses kernels, dispatches and scratch. Pure; needs no device. Arguments of the plan: `input`, `weights`, `edges`,
/// `item_count` (one u32, of items) and `output` (the bins of the first counted channel, then those of the next), each
/// present only where the shape calls for it. Edges known on the host travel with the plan, 4 bytes each.
[[nodiscard]] Result<Plan> plan_histogram(const HistogramShape& shape, const DeviceTraits& traits,
                                          std::optional<HistogramTuning> tuning = std::nullopt,
                                          HistogramOffsets offsets = {});

/// Buffers of one histogram; leave those empty that the shape does not use. Offsets are multiples of a sample (1 byte
/// for u8), for the others of 4. `output` must not overlap the others.
struct HistogramBuffers {
  BufferView input = {};
  BufferView output = {};
  BufferView weights = {};
  BufferView edges = {};
  BufferView item_count = {};
};

/// Plans, then records into the target. Neither submits nor waits; allocates nothing when repeated.
[[nodiscard]] Status record_histogram(Context& context, RecordTarget target, const HistogramShape& shape,
                                      const HistogramBuffers& buffers,
                                      std::optional<HistogramTuning> tuning = std::nullopt);

}  // namespace upsweep
