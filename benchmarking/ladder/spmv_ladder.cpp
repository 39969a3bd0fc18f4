// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/ladder/spmv_ladder.h"

#include <bit>
#include <format>

#include "benchmarking/bench_plans.h"
#include "plan/grid.h"
#include "plan/plan_builder.h"

namespace upsweep::bench {

std::string_view step_name(SpmvStep step) {
  switch (step) {
    case SpmvStep::ell_row_major: return "ell_row_major";
    case SpmvStep::ell: return "ell";
    case SpmvStep::csr_thread: return "csr_thread";
    case SpmvStep::csr_subgroup: return "csr_subgroup";
    case SpmvStep::csr_merge: return "csr_merge";
    case SpmvStep::block_ell: return "block_ell";
  }
  return "?";
}

std::string_view step_title(SpmvStep step) {
  switch (step) {
    case SpmvStep::ell_row_major: return "ELL, row-major";
    case SpmvStep::ell: return "ELL, slot-major";
    case SpmvStep::csr_thread: return "CSR, one thread a row";
    case SpmvStep::csr_subgroup: return "CSR, a subgroup a row";
    case SpmvStep::csr_merge: return "CSR, merge path";
    case SpmvStep::block_ell: return "Block-ELL";
  }
  return "?";
}

bool takes_csr(SpmvStep step) {
  return step == SpmvStep::csr_thread || step == SpmvStep::csr_subgroup || step == SpmvStep::csr_merge;
}

SpmvTuning spmv_step_tuning(SpmvStep step, const SparseShape& csr, const DeviceTraits& traits) {
  SpmvTuning tuning = select_spmv_tuning({.matrix = csr}, traits);
  tuning.path = step == SpmvStep::csr_merge ? SpmvPath::merge : SpmvPath::rows;
  const std::uint32_t subgroup = traits.subgroups ? traits.subgroup_min_size : 32;
  tuning.lanes_per_row = step == SpmvStep::csr_subgroup ? subgroup : 1;
  return tuning;
}

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
