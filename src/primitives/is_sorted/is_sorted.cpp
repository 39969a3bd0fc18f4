// SPDX-License-Identifier: Apache-2.0
#include "upsweep/is_sorted.h"

#include <array>

#include "exec/context_impl.h"
#include "plan/hash.h"

namespace upsweep {
namespace {

// Not every field: equality decides, the hash only has to spread.
std::uint64_t hash_of(const IsSortedShape& shape) {
  std::uint64_t hash = hash_bytes("is_sorted");
  hash = hash_bytes(shape.input.name, hash);
  hash = hash_bytes(shape.order.function, hash);
  return hash_number(shape.item_count.max * 4 + (shape.write_result ? 2 : 0) + (shape.write_leading_count ? 1 : 0),
                     hash);
}

}  // namespace

Status record_is_sorted(Context& context, RecordTarget target, const IsSortedShape& shape,
                        const IsSortedBuffers& buffers) {
  const auto plan =
      cached_plan(context.impl(), hash_of(shape), shape, [&] { return plan_is_sorted(shape, context.traits()); });
  if (!plan) return std::unexpected(plan.error());
  const std::array arguments{Argument{"input", buffers.input}, Argument{"result", buffers.result},
                             Argument{"leading_count", buffers.leading_count},
                             Argument{"item_count", buffers.item_count}};
  return context.record(target, **plan, arguments);
}

}  // namespace upsweep
