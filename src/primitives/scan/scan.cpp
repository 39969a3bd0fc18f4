// SPDX-License-Identifier: Apache-2.0
#include "upsweep/scan.h"

#include <array>

#include "exec/context_impl.h"
#include "plan/hash.h"

namespace upsweep {
namespace {

struct Key {
  ScanShape shape;
  std::optional<ScanTuning> tuning;
  ScanOffsets offsets;
  bool operator==(const Key&) const = default;
};

// Not every field: equality decides, the hash only has to spread.
std::uint64_t hash_of(const Key& key) {
  const ScanShape& shape = key.shape;
  std::uint64_t hash = hash_bytes("scan");
  hash = hash_bytes(shape.input.name, hash);
  hash = hash_bytes(shape.transform.expression, hash);
  hash = hash_bytes(shape.combine.function, hash);
  hash = hash_number(static_cast<std::uint64_t>(shape.combine.kind), hash);
  hash = hash_number(shape.item_count.max, hash);
  hash = hash_number(shape.segments.row_count.max * 4096 + shape.segments.row_length, hash);
  hash = hash_number(static_cast<std::uint64_t>(shape.segments.kind) * 4 + static_cast<std::uint64_t>(shape.kind) * 2 +
                         (shape.reverse ? 1 : 0),
                     hash);
  return hash_number(key.offsets.input_bytes * 4096 + key.offsets.output_bytes, hash);
}

}  // namespace

Status record_scan(Context& context, RecordTarget target, const ScanShape& shape, const ScanBuffers& buffers,
                   std::optional<ScanTuning> tuning) {
  thread_local Key key;  // its strings keep their memory from call to call
  key.shape = shape;
  const bool is_same = buffers.input.buffer != nullptr && buffers.input.buffer == buffers.output.buffer;
  if (is_same && buffers.input.offset_bytes == buffers.output.offset_bytes) key.shape.in_place = true;
  // A dispatch that writes another range of the input's buffer cannot read the input through two bindings.
  if (is_same && !key.shape.in_place) {
    tuning = tuning.value_or(select_scan_tuning(shape, context.traits()));
    tuning->use_vectors = false;
  }
  const std::uint32_t alignment = context.traits().offset_alignment;
  key.tuning = tuning;
  key.offsets = {buffers.input.offset_bytes % alignment, buffers.output.offset_bytes % alignment};
  const auto plan = cached_plan(context.impl(), hash_of(key), key,
                                [&] { return plan_scan(key.shape, context.traits(), tuning, key.offsets); });
  if (!plan) return std::unexpected(plan.error());
  const std::array arguments{Argument{"input", buffers.input}, Argument{"output", buffers.output},
                             Argument{"total", buffers.total}, Argument{"heads", buffers.heads},
                             Argument{"keys", buffers.keys},   Argument{"item_count", buffers.item_count}};
  return context.record(target, **plan, arguments);
}

}  // namespace upsweep
