// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "exec/record_planned.h"
#include "plan/hash.h"
#include "upsweep/runs.h"

namespace upsweep {

Status record_run_length(Context& context, RecordTarget target, const RunLengthShape& shape,
                         const RunLengthBuffers& buffers, std::optional<ScanTuning> tuning) {
  const std::uint64_t hash = hash_number(shape.item_count.max, hash_bytes(shape.input.name, hash_bytes("run_length")));
  const std::array arguments{Argument{"input", buffers.input},     Argument{"values", buffers.values},
                             Argument{"lengths", buffers.lengths}, Argument{"offsets", buffers.offsets},
                             Argument{"count", buffers.count},     Argument{"item_count", buffers.item_count}};
  return record_planned(context, target, shape, hash, tuning ? *tuning : select_scan_tuning(shape, context.traits()),
                        plan_run_length, buffers.input, buffers.values, arguments);
}

}  // namespace upsweep
