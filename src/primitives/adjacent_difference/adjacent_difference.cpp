// SPDX-License-Identifier: Apache-2.0
#include "upsweep/adjacent_difference.h"

#include <array>

#include "exec/record_planned.h"
#include "plan/hash.h"

namespace upsweep {

Status record_adjacent_difference(Context& context, RecordTarget target, const AdjacentDifferenceShape& shape,
                                  const AdjacentDifferenceBuffers& buffers, std::optional<ScanTuning> tuning) {
  const std::uint64_t hash = hash_number(shape.item_count.max, hash_bytes(shape.input.name, hash_bytes("adjacent")));
  const std::array arguments{Argument{"input", buffers.input}, Argument{"output", buffers.output},
                             Argument{"item_count", buffers.item_count}};
  return record_planned(context, target, shape, hash, tuning ? *tuning : select_scan_tuning(shape, context.traits()),
                        plan_adjacent_difference, buffers.input, buffers.output, arguments);
}

}  // namespace upsweep
