// SPDX-License-Identifier: Apache-2.0
#include "upsweep/partition.h"

#include <array>

#include "exec/record_planned.h"
#include "plan/hash.h"

namespace upsweep {

Status record_partition(Context& context, RecordTarget target, const PartitionShape& shape,
                        const PartitionBuffers& buffers, std::optional<ScanTuning> tuning) {
  const std::uint64_t hash =
      hash_number(shape.item_count.max, hash_bytes(shape.first.expression, hash_bytes("partition")));
  const std::array arguments{Argument{"input", buffers.input}, Argument{"output", buffers.output},
                             Argument{"count", buffers.count}, Argument{"flags", buffers.flags},
                             Argument{"item_count", buffers.item_count}};
  return record_planned(context, target, shape, hash, tuning ? *tuning : select_scan_tuning(shape, context.traits()),
                        plan_partition, buffers.input, buffers.output, arguments);
}

}  // namespace upsweep
