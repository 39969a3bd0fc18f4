// SPDX-License-Identifier: Apache-2.0
// What the device's memory can do, measured in the same run as everything that is compared with it.
#pragma once

#include <cstdint>
#include <span>

#include "benchmarking/harness.h"

namespace upsweep::bench {

struct Rate {
  std::uint64_t bytes = 0;  // copy: read and written; read: read
  Timing timing;
  [[nodiscard]] double gb_per_second() const { return gb_per_s(bytes, timing.ms.median); }
};

struct RateBuffers {
  BufferView input;
  BufferView copy_to;
  std::uint64_t copy_words = 0;
  std::uint64_t read_words = 0;  // of the input, which holds the shared input of u32
};

// The best of a few grid sizes.
Result<Rate> measure_copy(Context& context, Harness& harness, const RateBuffers& buffers);
// Likewise; grids whose sum is wrong are an error.
Result<Rate> measure_read(Context& context, Harness& harness, const RateBuffers& buffers);

}  // namespace upsweep::bench
