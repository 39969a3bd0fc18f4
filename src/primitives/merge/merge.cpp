// SPDX-License-Identifier: Apache-2.0
#include "upsweep/merge.h"

#include <array>

#include "exec/context_impl.h"
#include "plan/hash.h"

namespace upsweep {
namespace {

struct Key {
  MergeShape shape;
  std::optional<MergeTuning> tuning;
  bool operator==(const Key&) const = default;
};

// Not every field: equality decides, the hash only has to spread.
std::uint64_t hash_of(const Key& key) {
  std::uint64_t hash = hash_bytes("merge");
  hash = hash_bytes(key.shape.key.name, hash);
  hash = hash_bytes(key.shape.order.function, hash);
  if (key.shape.value) hash = hash_bytes(key.shape.value->name, hash);
  hash = hash_number(key.shape.left_count.max, hash);
  return hash_number(key.shape.right_count.max, hash);
}

}  // namespace

Status record_merge(Context& context, RecordTarget target, const MergeShape& shape, const MergeBuffers& buffers,
                    std::optional<MergeTuning> tuning) {
  thread_local Key key;  // its strings keep their memory from call to call
  key.shape = shape;
  key.tuning = tuning;
  const auto plan =
      cached_plan(context.impl(), hash_of(key), key, [&] { return plan_merge(shape, context.traits(), tuning); });
  if (!plan) return std::unexpected(plan.error());
  const std::array arguments{
      Argument{"left_keys", buffers.left_keys},       Argument{"right_keys", buffers.right_keys},
      Argument{"merged_keys", buffers.merged_keys},   Argument{"left_values", buffers.left_values},
      Argument{"right_values", buffers.right_values}, Argument{"merged_values", buffers.merged_values},
      Argument{"left_count", buffers.left_count},     Argument{"right_count", buffers.right_count}};
  return context.record(target, **plan, arguments);
}

}  // namespace upsweep
