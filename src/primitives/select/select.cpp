// SPDX-License-Identifier: Apache-2.0
#include "upsweep/select.h"

#include <array>

#include "exec/record_planned.h"
#include "plan/hash.h"

namespace upsweep {

Status record_select(Context& context, RecordTarget target, const SelectShape& shape, const SelectBuffers& buffers,
                     std::optional<ScanTuning> tuning) {
  const std::uint64_t hash =
      hash_number(shape.item_count.max, hash_bytes(shape.predicate.expression, hash_bytes("select")));
  const std::array arguments{Argument{"input", buffers.input},
                             Argument{"output", buffers.output},
                             Argument{"count", buffers.count},
                             Argument{"indices", buffers.indices},
                             Argument{"flags", buffers.flags},
                             Argument{"item_count", buffers.item_count},
                             Argument{"dispatch_arguments", buffers.dispatch_arguments}};
  return record_planned(context, target, shape, hash, tuning ? *tuning : select_scan_tuning(shape, context.traits()),
                        plan_select, buffers.input, buffers.output, arguments);
}

}  // namespace upsweep
