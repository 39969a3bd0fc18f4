// SPDX-License-Identifier: Apache-2.0
#include "upsweep/merge_sort.h"

#include <array>

#include "exec/context_impl.h"
#include "plan/hash.h"

namespace upsweep {
namespace {

struct Key {
  MergeSortShape shape;
  std::optional<MergeSortTuning> tuning;
  bool operator==(const Key&) const = default;
};

// Not every field: equality decides, the hash only has to spread.
std::uint64_t hash_of(const Key& key) {
  std::uint64_t hash = hash_bytes("merge_sort");
  hash = hash_bytes(key.shape.key.name, hash);
  hash = hash_bytes(key.shape.order.function, hash);
  if (key.shape.value) hash = hash_bytes(key.shape.value->name, hash);
  return hash_number(key.shape.item_count.max, hash);
}

}  // namespace

Status record_merge_sort(Context& context, RecordTarget target, const MergeSortShape& shape,
                         const MergeSortBuffers& buffers, std::optional<MergeSortTuning> tuning) {
  thread_local Key key;  // its strings keep their memory from call to call
  key.shape = shape;
  key.tuning = tuning;
  const auto plan =
      cached_plan(context.impl(), hash_of(key), key, [&] { return plan_merge_sort(shape, context.traits(), tuning); });
  if (!plan) return std::unexpected(plan.error());
  const std::array arguments{Argument{"keys", buffers.keys},
                             Argument{"values", buffers.values},
                             Argument{"sorted_keys", buffers.sorted_keys},
                             Argument{"sorted_values", buffers.sorted_values},
                             Argument{"indices", buffers.indices},
                             Argument{"item_count", buffers.item_count}};
  return context.record(target, **plan, arguments);
}

}  // namespace upsweep
