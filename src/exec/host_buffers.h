// SPDX-License-Identifier: Apache-2.0
// Buffers of a front that takes arrays: made, filled, released with it.
#pragma once

#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "exec/handle.h"
#include "upsweep/context.h"

namespace upsweep::host {

class HostBuffers {
 public:
  explicit HostBuffers(Context& context) : context_(&context) {}
  HostBuffers(const HostBuffers&) = delete;
  HostBuffers& operator=(const HostBuffers&) = delete;
  ~HostBuffers() {
    if (!buffers_.empty()) context_->release_bindings();  // they would keep the buffers
  }

  // Empty once something has failed; see status().
  BufferView make(std::uint64_t size_bytes, std::string_view label) {
    if (!status_) return {};
    auto raw = context_->create_buffer(size_bytes < 4 ? 4 : size_bytes, label);
    if (!raw) {
      status_ = std::unexpected(raw.error());
      return {};
    }
    return buffers_.emplace_back(*raw).get();
  }
  template <typename T>
  BufferView make(std::span<const T> items, std::string_view label) {
    const BufferView view = make(items.size_bytes(), label);
    if (status_ && !items.empty()) status_ = context_->write(view, std::as_bytes(items));
    return view;
  }
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  Context* context_;
  std::vector<BufferHandle> buffers_;
  Status status_;
};

// Records with `record(encoder)` and submits.
template <typename Record>
Status submit(Context& context, Record record) {
  const EncoderHandle encoder(wgpuDeviceCreateCommandEncoder(context.device(), nullptr));
  if (const Status recorded = record(encoder.get()); !recorded) return recorded;
  const CommandsHandle commands(wgpuCommandEncoderFinish(encoder.get(), nullptr));
  const WGPUCommandBuffer list = commands.get();
  wgpuQueueSubmit(context.queue(), 1, &list);
  return {};
}

// The beginning of a buffer as one T, or as items.
template <typename T>
Result<T> read_one(Context& context, const BufferView& view) {
  const auto bytes = context.read(view, sizeof(T));
  if (!bytes) return std::unexpected(bytes.error());
  T value;
  std::memcpy(&value, bytes->data(), sizeof(T));
  return value;
}
template <typename T>
Result<std::vector<T>> read_items(Context& context, const BufferView& view, std::size_t count) {
  if (count == 0) return std::vector<T>{};
  const auto bytes = context.read(view, count * sizeof(T));
  if (!bytes) return std::unexpected(bytes.error());
  std::vector<T> items(count);
  std::memcpy(items.data(), bytes->data(), count * sizeof(T));
  return items;
}

}  // namespace upsweep::host
