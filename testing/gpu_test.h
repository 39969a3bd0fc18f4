// SPDX-License-Identifier: Apache-2.0
// Fixture of the GPU tests. Each test is instantiated once per profile, and each test program runs once per adapter
// (CTest sets VK_DRIVER_FILES and UPSWEEP_EXPECT_ADAPTER), so that no profile and no adapter tests nothing in silence.
#pragma once

#include <gtest/gtest.h>
#include <webgpu/webgpu.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

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

/// A context per program run, seen through the test's profile. Fails the test on any error of the device.
class GpuTest : public ::testing::TestWithParam<Profile> {
 protected:
  void SetUp() override;
  void TearDown() override;

  [[nodiscard]] Context& context() const;
  [[nodiscard]] bool is_tiny() const { return GetParam() == Profile::tiny_tiles; }
  /// The tuning that a test passes on: none, except in the profile tiny_tiles.
  [[nodiscard]] std::optional<ReduceTuning> reduce_tuning() const;

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
