// SPDX-License-Identifier: Apache-2.0
// Plans of where slices begin, and of the rows' order in them.
#include <format>
#include <vector>

#include "plan/grid.h"
#include "plan/plan_builder.h"
#include "plan/sparse_parts.h"
#include "upsweep/scan.h"

namespace upsweep {

Result<Plan> plan_slice_rows(const SliceRowsShape& shape, const DeviceTraits& traits,
                             const SparseConversionTuning& tuning) {
  const SparseShape& csr = shape.csr;
  if (const Status ok = check_csr(csr, "A slicing of rows"); !ok) return std::unexpected(ok.error());
  if (const Status ok = check_slice_rows(shape.slice_rows, shape.window_rows, "A slicing of rows"); !ok) {
    return std::unexpected(ok.error());
  }
  if (const Status ok = check_tuning(tuning); !ok) return std::unexpected(ok.error());
  const std::uint64_t rows = csr.row_count;
  const std::uint64_t slices = div_ceil(rows, shape.slice_rows);
  PlanBuilder plan("slice_rows", traits);
  plan.note(std::format("slices of {} rows of {}{}", shape.slice_rows, to_string(csr),
                        shape.window_rows == 0 ? "" : std::format(", ordered in windows of {}", shape.window_rows)));
  plan.least_bytes((rows + 1) * 4 + (slices + 2) * 4 + (shape.window_rows == 0 ? 0 : rows * 4));
  SliceWidths widths{.row_offsets = plan.argument("row_offsets", (rows + 1) * 4, 4),
                     .row_count = csr.row_count,
                     .slice_rows = shape.slice_rows,
                     .slice_count = slices + 1,
                     .widths = plan.scratch("widths of slices", (slices + 1) * 4, ScratchGroup::first),
                     .workgroup_size = fitted_workgroup(tuning, traits)};
  if (shape.window_rows != 0 && rows != 0) {
    widths.row_order = plan.argument("row_order", rows * 4, 4, true);
    add_row_order(plan,
                  {.row_offsets = widths.row_offsets,
                   .row_order = *widths.row_order,
                   .csr = csr,
                   .window_rows = shape.window_rows,
                   .tuning = tuning},
                  traits);
  }
  add_slice_widths(plan, widths);
  const ScanShape scan{.item_count = Count::on_host(slices + 1),
                       .input = ElementType::u32(),
                       .combine = BinaryOperator::sum(),
                       .kind = ScanKind::exclusive,
                       .store = Transform::of(std::format("x * {}u", shape.slice_rows)),
                       .write_total = true};
  // Vectors would need to know where the caller's offsets begin.
  ScanTuning scan_tuning = tuning.scan.value_or(select_scan_tuning(scan, traits));
  scan_tuning.use_vectors = false;
  const SlotId offsets = plan.argument("slice_offsets", (slices + 1) * 4, 4, true);
  const SlotId total = plan.argument("slot_count", 4, 4, true);
  plan.append(plan_scan(scan, traits, scan_tuning),
              std::vector<PlanBuilder::Outer>{{"input", widths.widths}, {"output", offsets}, {"total", total}});
  return std::move(plan).finish();
}

}  // namespace upsweep
