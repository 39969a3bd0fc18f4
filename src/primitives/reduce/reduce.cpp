// SPDX-License-Identifier: Apache-2.0
#include "upsweep/reduce.h"

#include <array>

#include "exec/context_impl.h"
#include "plan/hash.h"

namespace upsweep {
namespace {

struct Key {
  ReduceShape shape;
  std::optional<ReduceTuning> tuning;
  ReduceOffsets offsets;
  bool operator==(const Key&) const = default;
};

// Not every field: equality decides, the hash only has to spread.
std::uint64_t hash_of(const Key& key) {
  const ReduceShape& shape = key.shape;
  std::uint64_t hash = hash_bytes(shape.input.name);
  hash = hash_bytes(shape.transform.expression, hash);
  hash = hash_bytes(shape.combine.function, hash);
  hash = hash_number(static_cast<std::uint64_t>(shape.combine.kind), hash);
  hash = hash_number(shape.item_count.max, hash);
  hash = hash_number(shape.segments.count.max, hash);
  hash = hash_number(shape.segments.row_length, hash);
  hash = hash_number(static_cast<std::uint64_t>(shape.segments.kind), hash);
  return hash_number(key.offsets.input_bytes * 4096 + key.offsets.second_input_bytes, hash);
}

}  // namespace

Status record_reduce(Context& context, RecordTarget target, const ReduceShape& shape, const ReduceBuffers& buffers,
                     std::optional<ReduceTuning> tuning) {
  const std::uint32_t alignment = context.traits().offset_alignment;
  // A dispatch that writes another range of the input's buffer cannot read the input through two bindings.
  const bool shares_buffer = buffers.output.buffer != nullptr && (buffers.output.buffer == buffers.input.buffer ||
                                                                  buffers.output.buffer == buffers.second_input.buffer);
  if (shares_buffer) {
    tuning = tuning.value_or(select_reduce_tuning(shape, context.traits()));
    tuning->use_vectors = false;
  }
  thread_local Key key;  // its strings keep their memory from call to call
  key.shape = shape;
  key.tuning = tuning;
  key.offsets = {buffers.input.offset_bytes % alignment, buffers.second_input.offset_bytes % alignment};
  const auto plan = cached_plan(context.impl(), hash_of(key), key,
                                [&] { return plan_reduce(shape, context.traits(), tuning, key.offsets); });
  if (!plan) return std::unexpected(plan.error());
  const std::array arguments{Argument{"input", buffers.input},
                             Argument{"second_input", buffers.second_input},
                             Argument{"item_count", buffers.item_count},
                             Argument{"segment_begins", buffers.segment_begins},
                             Argument{"segment_ends", buffers.segment_ends},
                             Argument{"output", buffers.output}};
  return context.record(target, **plan, arguments);
}

}  // namespace upsweep
