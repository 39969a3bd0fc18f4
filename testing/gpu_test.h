// SPDX-License-Identifier: Apache-2.0
// Fixture of the GPU tests. Each test is instantiated once per profile, and each test program runs once per adapter
// (CTest sets VK_DRIVER_FILES and UPSWEEP_EXPECT_ADAPTER), so that no profile and no adapter tests nothing in silence.
#pragma once

#include <gtest/gtest.h>
#include <webgpu/webgpu.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "upsweep/scan_tuning.h"
#include "upsweep/upsweep.h"

namespace upsweep::testing {

/// How a test sees the device.
enum class Profile : std::uint8_t {
  full,  ///< As it is.
  no_subgroups,
  minimum_limits,  ///< WebGPU's default limits, no subgroups.
  tiny_tiles,      ///< Tunings with a handful of items per tile: many passes at n = 100.
  emulated,        ///< Subgroups emulated in workgroup memory, with scrambled numbers.
};
std::string to_string(Profile profile);
inline const auto all_profiles = ::testing::Values(Profile::full, Profile::no_subgroups, Profile::minimum_limits,
                                                   Profile::tiny_tiles, Profile::emulated);
/// Without minimum_limits, which for most kernels is the same as no_subgroups.
inline const auto profiles_without_limits =
    ::testing::Values(Profile::full, Profile::no_subgroups, Profile::tiny_tiles, Profile::emulated);
inline std::string profile_name(const ::testing::TestParamInfo<Profile>& info) { return to_string(info.param); }

/// One buffer with 64 guard words on either side of the items and poison behind them.
class GuardedBuffer {
 public:
  static constexpr std::uint64_t guard_bytes = 256;

  /// `bytes` of items at `offset_bytes` after the front guard; the rest is poison. `tail_bytes` of poison follow.
  GuardedBuffer(Context& context, std::span<const std::byte> bytes, std::uint64_t offset_bytes = 0,
                std::uint64_t tail_bytes = guard_bytes);
  ~GuardedBuffer();
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  [[nodiscard]] BufferView view() const { return {buffer_, guard_bytes + offset_bytes_}; }
  [[nodiscard]] WGPUBuffer buffer() const { return buffer_; }
  /// The items as they are now; fails the test if a byte around them has changed.
  [[nodiscard]] std::vector<std::byte> read_and_check_guards() const;

 private:
  Context& context_;
  WGPUBuffer buffer_ = nullptr;
  std::uint64_t offset_bytes_ = 0;
  std::uint64_t size_bytes_ = 0;
  std::vector<std::byte> image_;
};

template <typename T>
std::span<const std::byte> bytes_of(const std::vector<T>& items) {
  return std::as_bytes(std::span<const T>(items));
}

template <typename T>
std::vector<T> items_of(std::span<const std::byte> bytes) {
  std::vector<T> items(bytes.size() / sizeof(T));
  if (!items.empty()) std::memcpy(items.data(), bytes.data(), items.size() * sizeof(T));
  return items;
}

/// Items that nobody has written yet: 0x4d in every byte.
template <typename T>
std::vector<T> unwritten(std::size_t count) {
  return items_of<T>(std::vector<std::byte>(count * sizeof(T), std::byte{0x4d}));
}

/// Fails at the first item that differs, by its bytes or by `is_same(actual, expected)`.
template <typename T, typename IsSame>
void expect_items(const std::vector<T>& actual, const std::vector<T>& expected, IsSame is_same) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (is_same(actual[i], expected[i])) continue;
    ADD_FAILURE() << "item " << i << " of " << actual.size() << " is " << ::testing::PrintToString(actual[i])
                  << ", not " << ::testing::PrintToString(expected[i]);
    return;
  }
}
template <typename T>
void expect_items(const std::vector<T>& actual, const std::vector<T>& expected) {
  expect_items(actual, expected, [](const T& a, const T& b) { return std::memcmp(&a, &b, sizeof(T)) == 0; });
}

/// Offset behind the front guard of a view that begins `item` items (of a word at least) after a multiple of them: no
/// multiple of 16 or 256 bytes for small ones.
template <typename T>
constexpr std::uint64_t item_offset(std::uint64_t item) {
  constexpr std::uint64_t unit = sizeof(T) < 4 ? 4 : sizeof(T);
  return (GuardedBuffer::guard_bytes / unit + 1 + item) * unit - GuardedBuffer::guard_bytes;
}

/// A context per program run, seen through the test's profile. Fails the test on any error of the device.
class GpuTest : public ::testing::TestWithParam<Profile> {
 protected:
  void SetUp() override;
  void TearDown() override;

  [[nodiscard]] Context& context() const;
  [[nodiscard]] bool is_tiny() const { return GetParam() == Profile::tiny_tiles; }
  /// The tuning that a test passes on: none, except in the profile tiny_tiles.
  [[nodiscard]] std::optional<ReduceTuning> reduce_tuning() const;
  /// The same for scans and their relatives.
  [[nodiscard]] std::optional<ScanTuning> scan_tuning() const;
  /// The profile's tuning, or the library's, with one path forced. Large workgroups that scan in workgroup memory are
  /// left to minimum_limits: SwiftShader takes a second for each kernel of 256 threads.
  [[nodiscard]] ScanTuning scan_tuning(ScanPath path, const ScanTuning& of_library) const {
    ScanTuning tuning = scan_tuning().value_or(of_library);
    tuning.path = path;
    if (GetParam() == Profile::no_subgroups || GetParam() == Profile::emulated) {
      tuning.workgroup_size = std::min(tuning.workgroup_size, 64u);
    }
    return tuning;
  }
  [[nodiscard]] ScanTuning scan_tuning(ScanPath path) const {
    return scan_tuning(path, select_scan_tuning(4, 1'000'000, context().traits()));
  }
  /// One pass over tiles of 512 threads, which the library takes for few tiles on some devices; none in other profiles
  /// than full, or where workgroups are smaller.
  [[nodiscard]] std::vector<ScanTuning> wide_tiles(std::uint32_t rows) const {
    if (GetParam() != Profile::full || context().traits().max_workgroup_size < 512) return {};
    ScanTuning tuning = scan_tuning(ScanPath::single_pass);
    tuning.workgroup_size = 512;
    tuning.rows = rows;
    return {tuning};
  }
  /// Compiling takes most of the time: two profiles try all kernels, the others some. SwiftShader, which takes a second
  /// for many a kernel, tries some in every profile, unless the variable UPSWEEP_THOROUGH is set.
  [[nodiscard]] bool is_thorough() const;
  /// One path in a profile, the other in the next.
  [[nodiscard]] ScanPath one_scan_path() const {
    return static_cast<int>(GetParam()) % 2 == 0 ? ScanPath::single_pass : ScanPath::two_pass;
  }
  /// Both paths, or one in profiles that are not thorough.
  [[nodiscard]] std::vector<ScanPath> some_scan_paths() const {
    if (is_thorough()) return {ScanPath::two_pass, ScanPath::single_pass};
    return {one_scan_path()};
  }
  /// Item counts around a workgroup, a tile of items and of vectors, their multiples, and where the plan changes.
  [[nodiscard]] static std::vector<std::uint32_t> scan_sizes(const ScanTuning& tuning, std::uint32_t most);
  /// A count that a software device works through in little time: workgroups are slow there, and emulated subgroups
  /// slower.
  [[nodiscard]] std::uint32_t affordable(std::uint32_t count) const;

  /// Records with `record(encoder)`, submits, waits.
  template <typename Record>
  void run(Record record) {
    WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(context().device(), nullptr);
    const Status status = record(encoder);
    EXPECT_TRUE(status.has_value()) << (status ? "" : status.error().message);
    WGPUCommandBuffer commands = wgpuCommandEncoderFinish(encoder, nullptr);
    wgpuQueueSubmit(context().queue(), 1, &commands);
    wgpuCommandBufferRelease(commands);
    wgpuCommandEncoderRelease(encoder);
    EXPECT_TRUE(context().wait().has_value());
  }
};

/// The adapter's own traits, before any profile.
const DeviceTraits& device_traits();
/// Traits of a profile on a device.
DeviceTraits traits_of(Profile profile, const DeviceTraits& device);

}  // namespace upsweep::testing
