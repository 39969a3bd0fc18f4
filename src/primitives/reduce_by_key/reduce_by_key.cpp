// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "exec/record_planned.h"
#include "plan/hash.h"
#include "upsweep/runs.h"

namespace upsweep {

Status record_reduce_by_key(Context& context, RecordTarget target, const ReduceByKeyShape& shape,
                            const ReduceByKeyBuffers& buffers, std::optional<ScanTuning> tuning) {
  std::uint64_t hash = hash_number(shape.item_count.max, hash_bytes(shape.input.name, hash_bytes("reduce_by_key")));
  hash = hash_bytes(shape.combine.function, hash_number(static_cast<std::uint64_t>(shape.combine.kind), hash));
  const std::array arguments{Argument{"keys", buffers.keys},     Argument{"input", buffers.input},
                             Argument{"output", buffers.output}, Argument{"unique_keys", buffers.unique_keys},
                             Argument{"count", buffers.count},   Argument{"item_count", buffers.item_count}};
  return record_planned(context, target, shape, hash, tuning ? *tuning : select_scan_tuning(shape, context.traits()),
                        plan_reduce_by_key, buffers.keys, buffers.input, arguments, 2);
}

}  // namespace upsweep
