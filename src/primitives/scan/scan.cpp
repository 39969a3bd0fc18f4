// SPDX-License-Identifier: Apache-2.0
#include "upsweep/scan.h"

#include <array>

#include "exec/record_planned.h"
#include "plan/hash.h"

namespace upsweep {

Status record_scan(Context& context, RecordTarget target, const ScanShape& shape, const ScanBuffers& buffers,
                   std::optional<ScanTuning> tuning) {
  const bool is_in_place = is_same_view(buffers.input, buffers.output);
  if (is_in_place && !shape.in_place) {
    ScanShape same = shape;
    same.in_place = true;
    return record_scan(context, target, same, buffers, tuning);
  }
  if (shape.in_place && buffers.input.buffer != nullptr && !is_in_place) {
    return fail(ErrorKind::invalid_request, "A scan in place has one view; the input is another than the output.");
  }
  std::uint64_t hash = hash_bytes("scan");
  hash = hash_bytes(shape.input.name, hash);
  hash = hash_bytes(shape.transform.expression, hash);
  hash = hash_bytes(shape.combine.function, hash);
  hash = hash_number(static_cast<std::uint64_t>(shape.combine.kind), hash);
  hash = hash_number(shape.item_count.max, hash);
  hash = hash_number(shape.segments.row_count.max * 4096 + shape.segments.row_length, hash);
  hash = hash_number(static_cast<std::uint64_t>(shape.segments.kind) * 4 + static_cast<std::uint64_t>(shape.kind) * 2 +
                         (shape.reverse ? 1 : 0),
                     hash);
  const std::array arguments{Argument{"input", buffers.input}, Argument{"output", buffers.output},
                             Argument{"total", buffers.total}, Argument{"heads", buffers.heads},
                             Argument{"keys", buffers.keys},   Argument{"item_count", buffers.item_count}};
  return record_planned(context, target, shape, hash, tuning ? *tuning : select_scan_tuning(shape, context.traits()),
                        plan_scan, buffers.input, buffers.output, arguments);
}

}  // namespace upsweep
