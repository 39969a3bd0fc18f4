// SPDX-License-Identifier: Apache-2.0
#include "upsweep/histogram.h"

#include <algorithm>
#include <array>

#include "exec/context_impl.h"
#include "plan/hash.h"

namespace upsweep {
namespace {

struct Key {
  HistogramShape shape;
  std::optional<HistogramTuning> tuning;
  HistogramOffsets offsets;
  bool operator==(const Key&) const = default;
};

// Not every field: equality decides, the hash only has to spread.
std::uint64_t hash_of(const Key& key) {
  const HistogramShape& shape = key.shape;
  std::uint64_t hash = hash_bytes("histogram");
  hash = hash_number(shape.item_count.max, hash);
  hash = hash_number(shape.bins.count, hash);
  hash = hash_number(static_cast<std::uint64_t>(shape.bins.kind) * 16 + static_cast<std::uint64_t>(shape.sample), hash);
  return hash_number(key.offsets.input_bytes * 4096 + key.offsets.weights_bytes, hash);
}

}  // namespace

Status record_histogram(Context& context, RecordTarget target, const HistogramShape& shape,
                        const HistogramBuffers& buffers, std::optional<HistogramTuning> tuning) {
  const std::uint32_t alignment = context.traits().offset_alignment;
  const std::array arguments{Argument{"input", buffers.input}, Argument{"weights", buffers.weights},
                             Argument{"edges", buffers.edges}, Argument{"item_count", buffers.item_count},
                             Argument{"output", buffers.output}};
  // A dispatch that writes another range of the input's buffer cannot read the input through two bindings.
  if (buffers.output.buffer != nullptr && buffers.output.buffer == buffers.input.buffer) {
    tuning = tuning.value_or(select_histogram_tuning(shape, context.traits()));
    tuning->use_vectors = false;
  }
  thread_local Key key;  // its edges keep their memory from call to call
  key.shape = shape;
  key.tuning = tuning;
  key.offsets = {buffers.input.offset_bytes % alignment, buffers.weights.offset_bytes % alignment};
  const auto plan = cached_plan(context.impl(), hash_of(key), key,
                                [&] { return plan_histogram(shape, context.traits(), tuning, key.offsets); });
  if (!plan) return std::unexpected(plan.error());
  return context.record(target, **plan, arguments);
}

}  // namespace upsweep
