// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/ladder/spmv_ladder.h"

#include <bit>
#include <format>

#include "benchmarking/bench_plans.h"
#include "plan/grid.h"
#include "plan/plan_builder.h"

namespace upsweep::bench {

Result<Plan> plan_row_major(const RowMajorMatrix& matrix, const DeviceTraits& traits,
                            std::optional<std::uint32_t> wanted_workgroup_size) {
  const std::uint32_t size = wanted_workgroup_size.value_or(bench_workgroup_size(traits));
  if (!std::has_single_bit(size)) {
    return fail(ErrorKind::invalid_request, std::format("A workgroup of {} threads is no power of two.", size));
  }
  const std::uint64_t rows = matrix.row_count;
  const std::uint64_t slots = rows * matrix.width;
  if (slots == 0 || matrix.column_count == 0 || slots > traits.max_binding_bytes / 4) {
    return fail(ErrorKind::unsupported,
                std::format("The ladder takes 1 to {} slots on this device (one binding), not {} x {}.",
                            traits.max_binding_bytes / 4, matrix.row_count, matrix.width));
  }
  const auto kernel = bench_kernel("ladder_spmv_row_major", size).build();
  if (!kernel) return std::unexpected(kernel.error());
  PlanBuilder plan("ladder_spmv_row_major", traits);
  const std::uint64_t x_bytes = std::uint64_t{matrix.column_count} * 4;
  const SlotId columns = plan.argument("columns", slots * 4, 4);
  const SlotId values = plan.argument("values", slots * 4, 4);
  const SlotId x = plan.argument("x", x_bytes, 4);
  const SlotId y = plan.argument("y", rows * 4, 4, true);
  plan.least_bytes(slots * 8 + x_bytes + rows * 4);
  plan.dispatch({.kernel = *kernel,
                 .workgroup_count = div_ceil(rows, size),
                 .bindings = {{"columns", columns}, {"values", values}, {"x", x}, {"y", y}},
                 .params = {{"row_count", matrix.row_count}, {"width", matrix.width}},
                 .reason = "a thread a row, rows one after the other",
                 .bytes_read = slots * 8 + x_bytes,
                 .bytes_written = rows * 4});
  return std::move(plan).finish();
}

}  // namespace upsweep::bench
