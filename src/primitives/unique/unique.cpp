// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "exec/record_planned.h"
#include "plan/hash.h"
#include "upsweep/runs.h"

namespace upsweep {

Status record_unique(Context& context, RecordTarget target, const UniqueShape& shape, const UniqueBuffers& buffers,
                     std::optional<ScanTuning> tuning) {
  const std::uint64_t hash = hash_number(shape.item_count.max, hash_bytes(shape.input.name, hash_bytes("unique")));
  const std::array arguments{Argument{"input", buffers.input}, Argument{"output", buffers.output},
                             Argument{"indices", buffers.indices}, Argument{"count", buffers.count},
                             Argument{"item_count", buffers.item_count}};
  return record_planned(context, target, shape, hash, tuning ? *tuning : select_scan_tuning(shape, context.traits()),
                        plan_unique, buffers.input, buffers.output, arguments);
}

}  // namespace upsweep
