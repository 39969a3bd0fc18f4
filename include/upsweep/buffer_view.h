// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "upsweep/handles.h"

namespace upsweep {

/// A range of a GPU buffer. The buffer needs the usage Storage; the caller keeps it alive until the recorded commands
/// have been submitted. The context's cached bind groups keep it in memory for some recordings even if the caller has
/// released it (ContextOptions::kept_buffer_bytes); Context::release_bindings() lets go of it at once.
struct BufferView {
  WGPUBuffer buffer = nullptr;
  std::uint64_t offset_bytes = 0;
  std::uint64_t size_bytes = whole;  ///< `whole`: to the end of the buffer.

  static constexpr std::uint64_t whole = ~std::uint64_t{0};

  BufferView() = default;
  BufferView(WGPUBuffer buffer_, std::uint64_t offset = 0, std::uint64_t size = whole)  // NOLINT(*-explicit-*)
      : buffer(buffer_), offset_bytes(offset), size_bytes(size) {}
  bool operator==(const BufferView&) const = default;
};

}  // namespace upsweep
