// SPDX-License-Identifier: Apache-2.0
#include "upsweep/search.h"

#include <array>

#include "exec/context_impl.h"
#include "plan/hash.h"

namespace upsweep {
namespace {

struct Key {
  SearchShape shape;
  std::optional<SearchTuning> tuning;
  bool operator==(const Key&) const = default;
};

// Not every field: equality decides, the hash only has to spread.
std::uint64_t hash_of(const Key& key) {
  std::uint64_t hash = hash_bytes("search");
  hash = hash_bytes(key.shape.item.name, hash);
  hash = hash_bytes(key.shape.order.function, hash);
  hash = hash_number(key.shape.item_count.max, hash);
  return hash_number(key.shape.query_count.max * 2 + static_cast<std::uint64_t>(key.shape.bound), hash);
}

}  // namespace

Status record_search(Context& context, RecordTarget target, const SearchShape& shape, const SearchBuffers& buffers,
                     std::optional<SearchTuning> tuning) {
  thread_local Key key;  // its strings keep their memory from call to call
  key.shape = shape;
  key.tuning = tuning;
  const auto plan =
      cached_plan(context.impl(), hash_of(key), key, [&] { return plan_search(shape, context.traits(), tuning); });
  if (!plan) return std::unexpected(plan.error());
  const std::array arguments{Argument{"items", buffers.items}, Argument{"queries", buffers.queries},
                             Argument{"positions", buffers.positions}, Argument{"item_count", buffers.item_count},
                             Argument{"query_count", buffers.query_count}};
  return context.record(target, **plan, arguments);
}

}  // namespace upsweep
