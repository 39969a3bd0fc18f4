// SPDX-License-Identifier: Apache-2.0
// What the cases of the fuzz program share: drawing, arrays in guarded buffers, and running one call on the device.
#pragma once

#include <webgpu/webgpu.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "testing/generators.h"
#include "upsweep/upsweep.h"

namespace upsweep::fuzz {

using testing::Random;

template <typename T>
const T& pick(Random& random, const std::vector<T>& choices) {
  return choices[random.below(static_cast<std::uint32_t>(choices.size()))];
}
inline bool one_in(Random& random, std::uint32_t many) { return random.below(many) == 0; }

using Bytes = std::vector<std::byte>;

template <typename T>
Bytes bytes_of(const std::vector<T>& items) {
  const auto bytes = std::as_bytes(std::span(items));
  return {bytes.begin(), bytes.end()};
}

/// What an output holds before the call.
inline Bytes unwritten(std::uint64_t bytes) { return Bytes(bytes, std::byte{0x4d}); }

enum class KeyKind : std::uint8_t { u32, i32, f32, f16, u64, i64, f64 };

/// What the cases of one stretch draw from, so that they share pipelines: compiling is what takes time.
struct Palette {
  std::vector<DeviceTraits> devices;
  std::vector<std::optional<SortTuning>> sorts;
  std::vector<std::optional<TopKTuning>> top_ks;
  std::vector<std::optional<HistogramTuning>> histograms;
  std::vector<KeyKind> keys;
  std::vector<ElementType> values;
  std::vector<SampleType> samples;
  bool descending = false;
};
Palette draw_palette(Random& random, const DeviceTraits& device);

/// A number of items: mostly near a multiple of one of `thresholds`, else small or anything up to `most`.
std::uint32_t draw_count(Random& random, const std::vector<std::uint32_t>& thresholds, std::uint32_t most);
/// What a buffer says where `most` is the limit: mostly less, sometimes more.
std::uint32_t draw_device_count(Random& random, std::uint32_t most);

/// The arrays of one call, each in a buffer of its own or all in one, among bytes of poison.
class Arrays {
 public:
  Arrays(bool share_buffer, std::byte poison) : shares_buffer_(share_buffer), poison_(poison) {}
  ~Arrays();
  Arrays(const Arrays&) = delete;
  Arrays& operator=(const Arrays&) = delete;

  using Id = std::size_t;
  /// An array that begins `first` units of bytes, or a few more, behind the poison.
  Id add(std::string name, Bytes bytes, std::uint64_t unit_bytes, std::uint64_t first);
  /// A count that is read on the device.
  Id add_count(std::string name, std::uint32_t count, std::uint64_t first) {
    return add(std::move(name), bytes_of(std::vector{count}), 4, first);
  }
  /// What it holds after the call; else it must not change.
  void expect(Id id, Bytes bytes);
  [[nodiscard]] Status create(Context& context);
  [[nodiscard]] BufferView view(Id id) const;
  /// What differs from what is expected, inside the arrays or around them.
  [[nodiscard]] std::optional<std::string> difference(Context& context) const;

 private:
  struct Array {
    std::string name;
    std::uint64_t unit_bytes;
    std::size_t buffer;
    std::uint64_t offset;
    std::uint64_t size;
  };
  struct Image {
    WGPUBuffer buffer = nullptr;
    Bytes before;
    Bytes after;
  };
  [[nodiscard]] std::string place_of(std::size_t image, std::uint64_t at) const;

  bool shares_buffer_;
  std::byte poison_;
  std::optional<std::size_t> shared_;  // an index of images_
  std::vector<Array> arrays_;
  std::vector<Image> images_;
};

/// One case: what it draws from, and what it says about itself.
struct Case {
  Context& context;
  const Palette& palette;
  Random random;
  std::string text = {};  ///< The job in words.

  [[nodiscard]] Arrays new_arrays(bool may_share_buffer = true) {
    // Poison that comes first in a sort, last, or is NaN.
    const std::byte poisons[] = {std::byte{0}, std::byte{0xff}, std::byte{0x7f}, std::byte{0xa5}};
    const bool shares = may_share_buffer && one_in(random, 8);
    if (shares) text += ", one buffer";
    return {shares, poisons[random.below(4)]};
  }
  std::uint64_t draw_first() { return one_in(random, 3) ? 0 : random.below(70); }
  /// Traits of a device of the palette; how workgroups are counted, and which tiles stall, varies without new kernels.
  void choose_device();
};

/// Records `record` (twice if it may be repeated), submits, waits, and compares the arrays. What is wrong, if anything.
std::optional<std::string> run_and_compare(Case& current, Arrays& arrays, bool may_repeat,
                                           const std::function<Status(RecordTarget)>& record);

std::optional<std::string> run_sort(Case& current);
std::optional<std::string> run_segments(Case& current);
std::optional<std::string> run_top_k(Case& current);
std::optional<std::string> run_histogram(Case& current);

}  // namespace upsweep::fuzz
