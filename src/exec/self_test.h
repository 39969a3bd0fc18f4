// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <vector>

#include "exec/context_impl.h"
#include "upsweep/status.h"

namespace upsweep {

// Runs small cases of the single-pass plans with look-back, tiles that never publish among them, and sets the trait
// `look_back` if every answer is right. Needs the instance. Rooms implement it: src/primitives/scan/scan_self_test.cpp.
Status run_self_test(Context& context);

// The same for the trait `lock_step`: a sort of one tile, many times. src/primitives/sort/sort_self_test.cpp.
Status run_lock_step_test(Context& context);

// Begin the pipelines of a test, so that those of several tests are compiled at the same time.
void begin_self_test(Context& context);
void begin_lock_step_test(Context& context);

// The first words of `output` after what record(encoder) recorded has run.
template <typename Record>
Result<std::vector<std::uint32_t>> words_after(Context& context, Record record, WGPUBuffer output,
                                               std::uint32_t count) {
  const EncoderHandle encoder(wgpuDeviceCreateCommandEncoder(context.device(), nullptr));
  if (const Status ok = record(encoder.get()); !ok) return std::unexpected(ok.error());
  const CommandsHandle commands(wgpuCommandEncoderFinish(encoder.get(), nullptr));
  const WGPUCommandBuffer list = commands.get();
  wgpuQueueSubmit(context.queue(), 1, &list);
  const auto bytes = context.read(output, std::uint64_t{count} * 4);
  if (!bytes) return std::unexpected(bytes.error());
  std::vector<std::uint32_t> words(count);
  std::memcpy(words.data(), bytes->data(), bytes->size());
  return words;
}

}  // namespace upsweep
