// SPDX-License-Identifier: Apache-2.0
#include "upsweep/top_k.h"

#include <array>

#include "exec/context_impl.h"
#include "plan/hash.h"

namespace upsweep {
namespace {

struct TopKKey {
  TopKShape shape;
  TopKTuning tuning;
  std::uint64_t input_bytes = 0;
  bool operator==(const TopKKey&) const = default;
};

std::uint64_t hash_of(const TopKKey& key) {
  const TopKShape& shape = key.shape;
  std::uint64_t hash = hash_bytes(shape.key.name, hash_bytes("top_k"));
  hash = hash_number(shape.item_count.max, hash);
  hash = hash_number(shape.k.max, hash);
  return hash_number(key.input_bytes * 2 + (shape.largest ? 1 : 0), hash);
}

}  // namespace

Status record_top_k(Context& context, RecordTarget target, const TopKShape& shape, const TopKBuffers& buffers,
                    std::optional<TopKTuning> tuning) {
  thread_local TopKKey key;  // its strings keep their memory from call to call
  key.shape = shape;
  key.tuning = tuning ? *tuning : select_top_k_tuning(shape, context.traits());
  key.input_bytes = buffers.keys.offset_bytes % context.traits().offset_alignment;
  const std::array arguments{Argument{"keys", buffers.keys},
                             Argument{"values", buffers.values},
                             Argument{"top_keys", buffers.top_keys},
                             Argument{"top_values", buffers.top_values},
                             Argument{"indices", buffers.indices},
                             Argument{"count", buffers.count},
                             Argument{"threshold", buffers.threshold},
                             Argument{"item_count", buffers.item_count},
                             Argument{"k", buffers.k}};
  // Keys read as vectors have two bindings, which cannot share a buffer with a range that the same pass writes.
  const WGPUBuffer keys = buffers.keys.buffer;
  const bool shares = keys != nullptr && (keys == buffers.top_keys.buffer || keys == buffers.indices.buffer);
  if (shares) key.tuning.compaction.use_vectors = false;
  const auto plan = cached_plan(context.impl(), hash_of(key), key,
                                [&] { return plan_top_k(key.shape, context.traits(), key.tuning, key.input_bytes); });
  if (!plan) return std::unexpected(plan.error());
  return context.record(target, **plan, arguments);
}

}  // namespace upsweep
