// SPDX-License-Identifier: Apache-2.0
// A plan that works on a whole array at once: a buffer for each of its arguments, filled and read back in pieces.
#pragma once

#include <webgpu/webgpu.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "commands.h"
#include "items.h"
#include "progress.h"
#include "upsweep/plan.h"

namespace upsweep::cli {

class ArrayRun {
 public:
  // Makes the buffers. `name` of the file is for messages.
  static Expected<ArrayRun> create(Context& context, Plan plan, const std::string& name);

  // Items of a whole file; nothing if the plan has no such argument, as for no items.
  Outcome upload(std::string_view argument, const Items& items, Progress& progress);
  // The same for items of any source: `give` has items [first, first + count), in `scratch` if need be.
  using GiveBytes = std::function<Expected<std::span<const std::byte>>(std::uint64_t first, std::uint64_t count,
                                                                       std::vector<std::byte>& scratch)>;
  Outcome upload(std::string_view argument, std::uint64_t item_bytes, std::uint64_t item_count, const GiveBytes& give,
                 Progress& progress);
  // Records and submits. Its errors may be about the user's WGSL.
  Status run();

  using TakeBytes = std::function<Outcome(std::span<const std::byte>)>;
  // The first bytes of an argument, piece by piece; a piece is a multiple of 8 bytes unless it is the last.
  Outcome read(std::string_view argument, std::uint64_t size_bytes, const TakeBytes& take);
  // The u32 in argument `count`.
  Expected<std::uint64_t> read_count();

 private:
  struct ReleaseBuffer {
    void operator()(WGPUBuffer buffer) const { wgpuBufferRelease(buffer); }
  };
  using Buffer = std::unique_ptr<WGPUBufferImpl, ReleaseBuffer>;

  ArrayRun(Context& context, Plan plan) : context_(&context), plan_(std::move(plan)) {}
  [[nodiscard]] WGPUBuffer find(std::string_view argument) const;

  Context* context_;
  Plan plan_;
  std::vector<Buffer> buffers_;  // of the plan's arguments, in their order
};

// Refuses arrays that no plan takes.
Outcome check_item_count(const npy::Array& array);
// The error of a plan that the device has no room for, in short and with the file's name; others as failed() has them.
std::unexpected<Failure> plan_failed(const Error& error, const npy::Array& array);

}  // namespace upsweep::cli
